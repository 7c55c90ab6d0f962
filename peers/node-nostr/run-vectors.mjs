// Reads the vectors of docs/spec/nostr.md, nostr-events.md and nostr-connect.md, and the official ones, with
// nostr-tools:
// node run-vectors.mjs [VECTORS]
//
// A case that is marked `lenient`, which known implementations accept, is not tried.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as events from './events.mjs';
import * as official from './official.mjs';
import * as ours from './ours.mjs';
import * as policy from './policy.mjs';
import * as session from './session.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = process.argv[2] ?? join(here, '..', '..', 'vectors');

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
  return JSON.parse(readFileSync(join(root, folder, name), 'utf8'));
}

for (const [name, lists] of Object.entries(official.CHECKS)) {
  const file = read('third-party/nostr', name);
  for (const [path, check] of Object.entries(lists)) {
    const list = path.split('.').reduce((value, key) => value[key], file);
    const expect = path.startsWith('invalid') ? 'refused' : 'ok';
    list.forEach((it, at) => count(`${name} ${path} ${at}`, expect, () => check(it)));
  }
}

for (const [folder, { CHECKS }] of [
  ['nostr', ours],
  ['nostr-events', events],
  ['nostr-connect', policy],
  ['nostr-connect', session],
]) {
  for (const [name, check] of Object.entries(CHECKS)) {
    for (const it of read(folder, name)) {
      const work = () => (it.lenient ? ours.SKIPPED : check(it));
      count(`${name}: ${it.comment}`, it.expect, work);
    }
  }
}

console.log(
  `nostr-tools: ${counts.ok} cases agree, ${counts.refused} refusals are shared, ` +
    `${counts.skipped} are not its own; ${counts.wrong} problems`,
);
if (counts.ok < 200 || counts.refused < counts.ok) {
  console.log('too few vectors');
  process.exit(1);
}
process.exit(counts.wrong > 0 ? 1 : 0);
