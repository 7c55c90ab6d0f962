// Times one subject in this runtime: `main.js SUBJECT`. Prints a line for each figure.

const SIZES = [5, 100, 1_000];
const BYTES = 1_024;
const MILLISECONDS = 700;

const [subject] = process.argv.slice(2);
const { cases } = await import(`./${subject}.js`);
const runtime = globalThis.Bun ? `Bun ${Bun.version}` : `Node ${process.versions.node}`;

/** Least time of a call in milliseconds, after the runtime had time to compile. */
async function time(work) {
  let [best, calls] = [Infinity, 0];
  const start = performance.now();
  for (let now = start; now - start < MILLISECONDS || calls < 5; calls += 1) {
    await work();
    const after = performance.now();
    best = Math.min(best, after - now);
    now = after;
  }
  return best;
}

for (const members of SIZES) {
  for (const [name, work] of Object.entries(await cases(members, BYTES))) {
    console.log([runtime, subject, name, members, await time(work)].join('\t'));
  }
}
