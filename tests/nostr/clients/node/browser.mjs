// A browser behind lines of JSON: `node browser.mjs BROWSER PROGRAM`, BROWSER is chrome or firefox. Each order
// is {do, …} and has the answer {ok, result} or {ok: false, message}. All pages share cookies, as in the browser
// of one person, until the order `fresh`.

import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import puppeteer from 'puppeteer-core';

console.log = console.info = console.debug = console.error;

const [, , name, executablePath] = process.argv;
const browser = await puppeteer.launch({
  browser: name,
  executablePath,
  headless: true,
  args: name === 'chrome' ? ['--no-sandbox'] : [],
});
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let context;
let page;
/** Pages of another site, by their path. */
const foreign = new Map();
const site = createServer((request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(foreign.get(request.url) ?? '<p>nothing</p>');
});
await new Promise((done) => site.listen(0, '127.0.0.1', done));
// Another site than 127.0.0.1, whatever the port.
const elsewhere = `http://localhost:${site.address().port}`;

const shown = async () => ({ url: page.url(), text: await page.evaluate(() => document.body.innerText) });

/** Waits until the forms of a decision, which are hidden for a second, are there. */
const appeared = () => page.waitForFunction(() =>
  [...document.querySelectorAll('form.decision')].every((it) => getComputedStyle(it).visibility === 'visible'));
/** Scrolls to an element, which may be hidden. Returns its place. */
const middle = async (selector) => {
  const { x, y, width, height } = await page.$eval(selector, (it) => {
    it.scrollIntoView({ block: 'center', behavior: 'instant' });
    return it.getBoundingClientRect().toJSON();
  });
  return [x + width / 2, y + height / 2];
};
/** Gives a click or key the time to have an effect. */
const settled = () => new Promise((done) => setTimeout(done, 400));
/** Time at which the current page was there at the earliest, in milliseconds since 1970. */
const came = () => page.evaluate(() => performance.timeOrigin + performance.getEntriesByType('navigation')[0].responseEnd);
/** Does an input, and says how long after `since` it ended: a page may be right to take a late one. */
const timed = async (since, input) => {
  await input();
  const ms = Date.now() - since;
  await settled();
  return { ms, ...(await shown()) };
};
/** Another site opens `url` in a popup, which becomes the current page. Returns the page of the site. */
const opened = async (url, features) => {
  foreign.set('/app', `<button onclick="window.opened = window.open('${url}', '_blank', '${features}')">Log in</button>`);
  await page.goto(`${elsewhere}/app`);
  const created = new Promise((done) => browser.once('targetcreated', done));
  await page.click('button');
  const app = page;
  page = await (await created).page();
  await page.waitForSelector('h1');
  return app;
};

const orders = {
  /** Forgets everything, as the browser of another person. */
  async fresh() {
    await context?.close();
    context = await browser.createBrowserContext();
    page = await context.newPage();
  },
  async open({ url }) {
    const response = await page.goto(url, { waitUntil: 'load' });
    await appeared();
    return { status: response?.status(), ...(await shown()) };
  },
  shown,
  source: () => page.content(),
  /** Presses the button or link with this text, and waits for the next page. */
  async press({ text }) {
    await appeared();
    const found = await page.evaluateHandle(
      (text) => [...document.querySelectorAll('button, a, summary')].find((it) => it.innerText === text),
      text,
    );
    const element = found.asElement();
    if (!element) {
      throw new Error(`no '${text}' on: ${(await shown()).text}`);
    }
    // A click that gives the page the focus hides its form again: a person repeats it.
    for (let left = 5, done = false; !done; left -= 1) {
      await appeared();
      const loaded = page.waitForNavigation({ waitUntil: 'load', timeout: left > 0 ? 5000 : 30000 });
      [done] = await Promise.all([loaded.then(() => true, (error) => left <= 0 && Promise.reject(error)), element.click()]);
    }
    await appeared();
    return shown();
  },
  async unfold() {
    await page.evaluate(() => document.querySelectorAll('details').forEach((it) => { it.open = true; }));
    return shown();
  },
  async choose({ value }) {
    await page.select('select', value);
  },
  /** Presses Tab until the button with this text has the focus, and then Enter. */
  async keyboard({ text }) {
    await appeared();
    for (let i = 0; i < 40; i += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate(() => document.activeElement?.innerText)) === text) {
        await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), page.keyboard.press('Enter')]);
        return shown();
      }
    }
    throw new Error(`Tab does not reach '${text}'`);
  },
  async look({ width, scheme, file }) {
    await page.setViewport({ width, height: 900 });
    if (name === 'chrome') {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    }
    await page.screenshot({ path: file, fullPage: true });
    return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  },
  /** Faults of the page that keep people out, by axe-core. */
  async faults() {
    // The policy of the page allows no script of others: this one comes through the debugger.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run());
    return violations
      .filter((it) => ['serious', 'critical'].includes(it.impact))
      .map((it) => `${it.id}: ${it.nodes.map((node) => node.html).join(' ')}`);
  },
  /** Another site opens `url` in a popup or in a tab; the new page becomes the current one. */
  async popup({ url, features }) {
    const app = await opened(url, features);
    await appeared();
    return { ...(await shown()), isClosedForApp: await app.evaluate(() => window.opened?.closed ?? null) };
  },
  /** A site opens `url` in a popup and shows `other` there when the pointer is at "Allow" and is about to click. */
  async swap({ url, other }) {
    const app = await opened(url, 'popup,width=500,height=700');
    await appeared();
    await page.mouse.move(...(await middle('button[value=allow]')));
    await app.evaluate((other) => { window.opened.location = other; }, other);
    await page.waitForFunction((other) => location.href === other && document.querySelector('button[value=allow]'), {}, other);
    const place = await middle('button[value=allow]');
    return timed(await came(), () => page.mouse.click(...place));
  },
  /** A window in front of the current page closes, and the click that was meant for it goes to "Allow". */
  async uncover() {
    await appeared();
    const place = await middle('button[value=allow]');
    const front = await context.newPage();
    await front.goto(`${elsewhere}/`);
    await front.bringToFront();
    await settled();
    await page.evaluate(() => {
      const note = () => { window.uncovered = document.hidden ? undefined : Date.now(); };
      addEventListener('focus', note);
      document.addEventListener('visibilitychange', note);
    });
    await front.close();
    await page.bringToFront();
    // A system gives a window the focus before its clicks; the debugger may be faster with clicks.
    const uncovered = await page.waitForFunction(() => window.uncovered, { timeout: 2000 }).catch(() => undefined);
    return timed((await uncovered?.jsonValue()) ?? 0, () => page.mouse.click(...place));
  },
  /** Opens `url` and presses keys at once. */
  async hasty({ url, keys }) {
    await page.goto(url, { waitUntil: 'load' });
    return timed(await came(), async () => {
      for (const key of keys) {
        await page.keyboard.press(key);
      }
    });
  },
  /** Checks the box of the form. */
  async check() {
    await appeared();
    await page.click('input[type=checkbox]');
  },
  /** Presses "Allow" and stays if the browser does not submit the form. */
  async try() {
    await appeared();
    await page.click('button[value=allow]');
    await settled();
    return shown();
  },
  /** Another site submits a form to `url`. */
  async attack({ url, fields }) {
    const inputs = Object.entries(fields).map(([key, value]) => `<input name="${key}" value="${value}">`);
    foreign.set('/evil', `<form method="post" action="${url}">${inputs.join('')}<button>Win a prize</button></form>`);
    await page.goto(`${elsewhere}/evil`);
    await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), page.click('button')]);
    return shown();
  },
  /** Another site frames `url`. Returns what is in the frame. */
  async frame({ url }) {
    foreign.set('/frame', `<iframe src="${url}"></iframe>`);
    await page.goto(`${elsewhere}/frame`, { waitUntil: 'load' });
    const inner = page.frames().find((it) => it !== page.mainFrame());
    return inner ? inner.evaluate(() => document.body?.innerText ?? '').catch(() => '') : '';
  },
  async wait({ text }) {
    await page.waitForFunction((text) => document.body.innerText.includes(text), { timeout: 8000 }, text);
    return shown();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  let answer;
  try {
    answer = { ok: true, result: (await orders[order.do](order)) ?? null };
  } catch (error) {
    answer = { ok: false, message: String(error?.message ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
process.exit(0);
