// Runs tests: `node main.js NAME…`, or as a page with `?NAME&…`. The name of a test is that of its file.

import { cases } from './check.js';

const page = typeof document !== 'undefined';
const names = page ? location.search.slice(1).split('&') : process.argv.slice(2);
const runtime = page
  ? navigator.userAgent.match(/[A-Za-z]*Chrome\/[0-9]+/)[0]
  : globalThis.Deno ? `Deno ${Deno.version.deno}` : globalThis.Bun ? `Bun ${Bun.version}` : `Node ${process.versions.node}`;

for (const name of names) await import(`./${name}.js`);
const { backend } = await import('endseal');
console.log(`# ${runtime}, ${backend.kind}: ${names.join(', ')}`);
let failed = 0;
for (const { name, run } of cases) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${name}: ${error?.stack ?? error}`);
  }
}
console.log(`${cases.length - failed} passed, ${failed} failed`);
if (!page) process.exitCode = failed > 0 || cases.length === 0 ? 1 : 0;
