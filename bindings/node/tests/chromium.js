// Runs tests in Chromium: `node chromium.js FOLDER NAME…`. The folder has main.js and node_modules.
// `--insecure` makes it a page without a secure context, which may not start workers.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';

const LIMIT = 120_000;
const TYPES = { '.js': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm', '.html': 'text/html' };
// All that a page needs: no script may be compiled from text.
const POLICY = "default-src 'self'; script-src 'self' 'nonce-map' 'wasm-unsafe-eval'; "
  + "connect-src 'self' ws://127.0.0.1:*";
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script type="importmap" nonce="map">${JSON.stringify({ imports: Object.fromEntries(
  ['', '/nostr', '/roster'].map((it) => [`endseal${it}`, `./node_modules/endseal/${it && `${it.slice(1)}-`}web.js`]),
) })}</script>
<script type="module" src="./page.js"></script>`;

const [folder, ...words] = process.argv.slice(2);
const names = words.filter((it) => it !== '--insecure');
// Names that are not localhost need HTTPS.
const host = words.includes('--insecure') ? 'insecure.test' : '127.0.0.1';
let reported;
const report = new Promise((resolve, reject) => {
  reported = resolve;
  setTimeout(() => reject(new Error(`Chromium has not reported within ${LIMIT / 1000} s`)), LIMIT).unref();
});

const server = createServer(async (request, response) => {
  response.setHeader('content-security-policy', host === 'insecure.test' ? `${POLICY}; worker-src 'none'` : POLICY);
  const { pathname } = new URL(request.url, 'http://localhost');
  if (request.method === 'POST') {
    let text = '';
    for await (const piece of request) text += piece;
    response.end();
    reported(text);
    return;
  }
  const type = TYPES[pathname === '/' ? '.html' : extname(pathname)] ?? 'application/octet-stream';
  try {
    const body = pathname === '/' ? PAGE : await readFile(join(folder, normalize(pathname)));
    response.setHeader('content-type', type);
    response.end(body);
  } catch {
    response.statusCode = 404;
    response.end();
  }
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const profile = await mkdtemp(join(tmpdir(), 'endseal-chromium-'));
const options = [
  '--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`,
  '--host-resolver-rules=MAP insecure.test 127.0.0.1',
];
const address = `http://${host}:${server.address().port}/?${names.join('&')}`;
const browser = spawn('chromium', [...options, address], { stdio: 'ignore' });
browser.on('error', (error) => reported(`not ok: ${error.message}`));
try {
  const text = await report;
  console.log(text);
  process.exitCode = /^[1-9][0-9]* passed, 0 failed$/m.test(text) ? 0 : 1;
} finally {
  browser.kill();
  await new Promise((resolve) => (browser.exitCode === null ? browser.once('exit', resolve) : resolve()));
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  server.close();
  server.closeAllConnections();
}
