// Log-in widgets for web pages, in Chromium: they give a page `window.nostr`. The page is served on localhost with
// the script of the installed package, and reaches no other machine.
//
// The widget keeps its session in the page's localStorage. A file in the working directory holds a copy, by the key
// that the client would have, so that a browser which is started again continues.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { resolve as absolute } from 'node:path';
import puppeteer from 'puppeteer-core';

/** The error that the page got: `refused` is the signer's text. */
class PageError extends Error {
  constructor({ refused, message, kind }) {
    super(refused ?? message);
    Object.assign(this, { refused, kind });
  }
}

export const refusal = (error) => error?.refused;

/**
 * Returns `connect` and `resume` of client.mjs for a widget.
 *
 * @param script the file in the package
 * @param attributes of the script element
 * @param logIn(page, uri) fills the widget in; the page has called `window.nostr.getPublicKey()` already
 * @param confirm(page) presses the button that opens the page which the signer names
 */
export function widget({ script, attributes = '', logIn, confirm }) {
  let browser;

  async function load(key) {
    const code = readFileSync(createRequire(import.meta.url).resolve(script));
    const html = `<!doctype html><title>app</title><h1>An app</h1><script src="/widget.js" ${attributes}></script>`;
    const site = createServer((request, response) => {
      const asked = request.url === '/widget.js';
      response.setHeader('content-type', `${asked ? 'text/javascript' : 'text/html'}; charset=utf-8`);
      response.end(asked ? code : html);
    });
    await new Promise((done) => site.listen(0, '127.0.0.1', done));
    const url = `http://localhost:${site.address().port}/`;
    const [executablePath] = process.argv.slice(3);
    browser ??= await puppeteer.launch({
      executablePath,
      headless: true,
      // Chromium ends with its pipe, even if this program is killed.
      pipe: true,
      userDataDir: absolute(`profile-${process.pid}`),
      args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost'],
    });
    const page = await browser.newPage();
    const kept = absolute(`storage-${key}.json`);
    if (existsSync(kept)) {
      await page.evaluateOnNewDocument((text) => {
        Object.entries(JSON.parse(text)).forEach(([name, value]) => localStorage.setItem(name, value));
      }, readFileSync(kept, 'utf8'));
    }
    await page.goto(url);
    const keep = async () => writeFileSync(kept, await page.evaluate(() => JSON.stringify(localStorage)));
    return { page, keep };
  }

  return {
    async connect({ uri, key }) {
      const { page, keep } = await load(key);
      const session = sessionOf(page, confirm);
      const known = session.getPublicKey();
      known.catch(() => {});
      await Promise.race([known, logIn(page, uri).then(() => known)]);
      await keep();
      return session;
    },
    async resume({ key }) {
      return sessionOf((await load(key)).page, confirm);
    },
  };
}

/** Waits until the widget shows an error, and throws it. */
export async function shownError(page, read) {
  const shown = await page.waitForFunction(read, { timeout: 0 });
  throw new PageError({ refused: await shown.jsonValue() });
}

function sessionOf(page, confirm) {
  const call = async (path, ...given) => {
    const answer = await page.evaluate(async (path, given) => {
      let [owner, method] = [window.nostr, window.nostr];
      for (const name of path) {
        [owner, method] = [method, method?.[name]];
      }
      if (!method) {
        return { kind: 'unsupported', message: `no ${path.join('.')}` };
      }
      try {
        return { result: await method.call(owner, ...given) };
      } catch (error) {
        // The signer's error is a text in both libraries.
        return typeof error === 'string' ? { refused: error } : { message: String(error?.message ?? error) };
      }
    }, path, given);
    if (!('result' in answer)) {
      throw new PageError(answer);
    }
    return answer.result;
  };
  return {
    getPublicKey: () => call(['getPublicKey']),
    signEvent: (draft) => call(['signEvent'], draft),
    encrypt: (scheme, peer, text) => call([scheme, 'encrypt'], peer, text),
    decrypt: (scheme, peer, text) => call([scheme, 'decrypt'], peer, text),
    /** Opens the page as a popup, and returns its address once it is shown. */
    async page() {
      const opened = new Promise((done) => page.once('popup', done));
      await confirm(page);
      const popup = await opened;
      await popup.waitForSelector('h1');
      return popup.url();
    },
  };
}
