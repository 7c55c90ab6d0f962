// Reads the vectors of docs/spec/nostr.md and the official ones with nostr-tools:
// node run-vectors.mjs [VECTOR_DIR [OFFICIAL_DIR]]
//
// A case that is marked `lenient`, which known implementations accept, is not tried.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as official from './official.mjs';
import * as ours from './ours.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'vectors');
const [own = join(root, 'nostr'), theirs = join(root, 'third-party', 'nostr')] =
  process.argv.slice(2);

const counts = { ok: 0, refused: 0, skipped: 0, wrong: 0 };

function count(at, expect, check) {
  let problem;
  try {
    problem = check();
  } catch (error) {
    problem = `${error.message}`;
  }
  if (problem === ours.SKIPPED) {
    counts.skipped += 1;
  } else if (problem) {
    counts.wrong += 1;
    console.log(`${at}: ${problem.slice(0, 200)}`);
  } else {
    counts[expect === 'ok' ? 'ok' : 'refused'] += 1;
  }
}

function read(folder, name) {
  return JSON.parse(readFileSync(join(folder, name), 'utf8'));
}

for (const [name, lists] of Object.entries(official.CHECKS)) {
  const file = read(theirs, name);
  for (const [path, check] of Object.entries(lists)) {
    const list = path.split('.').reduce((value, key) => value[key], file);
    const expect = path.startsWith('invalid') ? 'refused' : 'ok';
    list.forEach((it, at) => count(`${name} ${path} ${at}`, expect, () => check(it)));
  }
}

// Files of other parts of Nostr, which this library does not have, are other readers'.
const names = existsSync(own) ? readdirSync(own).filter((name) => ours.CHECKS[name]) : [];
for (const name of names) {
  for (const it of read(own, name)) {
    const check = it.lenient ? () => ours.SKIPPED : () => ours.CHECKS[name](it);
    count(`${name}: ${it.comment}`, it.expect, check);
  }
}

console.log(
  `nostr-tools: ${counts.ok} cases agree, ${counts.refused} refusals are shared, ` +
    `${counts.skipped} are not its own; ${counts.wrong} problems`,
);
if (counts.ok < 70 || counts.refused < 20 || (existsSync(own) && names.length === 0)) {
  console.log('too few vectors');
  process.exit(1);
}
process.exit(counts.wrong > 0 ? 1 : 0);
