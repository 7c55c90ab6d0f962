// `table.js TIMES FILE` writes the best of each figure, and prints them beside each other.

import { readFileSync, writeFileSync } from 'node:fs';

const [times, file] = process.argv.slice(2);
const best = new Map();
for (const line of readFileSync(times, 'utf8').trim().split('\n')) {
  const cells = line.split('\t');
  const key = cells.slice(0, 4).join('\t');
  best.set(key, Math.min(best.get(key) ?? Infinity, Number(cells[4])));
}
const rows = [...best].map(([key, ms]) => `${key}\t${ms.toPrecision(3)}`).sort();
writeFileSync(file, `runtime\tsubject\tcase\tmembers\tms\n${rows.join('\n')}\n`);

const runtimes = [...new Set(rows.map((it) => it.split('\t')[0]))].filter((it) => it !== 'Rust');
for (const runtime of runtimes) {
  for (const name of ['seal', 'open', 'seal, post-quantum', 'open, post-quantum']) {
    for (const members of [5, 100, 1_000]) {
      const of = (subject) => best.get([runtime, subject, name, members].join('\t'));
      const [noble, native, wasm] = ['noble', 'native', 'wasm'].map(of);
      const rust = best.get(['Rust', 'rust', name, members].join('\t'));
      const ratio = (ms) => (noble ? ` (${(noble / ms).toFixed(1)}x)` : '');
      console.log(`${runtime}, ${name}, ${members} members: ${noble ? `noble ${noble.toFixed(3)} ms, ` : ''}`
        + `native ${native.toFixed(3)} ms${ratio(native)}, ${(native / rust).toFixed(2)} of Rust's, wasm ${wasm.toFixed(3)} ms${ratio(wasm)}`);
    }
  }
}
