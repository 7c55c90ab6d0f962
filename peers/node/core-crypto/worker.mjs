// A process that calls CoreCrypto, and ends with the one that started it.

import { rmSync } from 'node:fs';
import { examine, iterate } from '../sessions.mjs';

let root;
let World;

const operations = {
  /** Loads the library, which may be missing or ask for more than this machine has. */
  async load() {
    ({ World } = await import('./world.mjs'));
  },
  /** Folder of all worlds. Its remains are removed here if no other process can do it. */
  own: (folder) => {
    root = folder;
  },
  establish: (folder, params) => World.establish(folder, params),
  seal: (folder, n) => new World(folder).seal(n),
  iterate: (folder, ...rest) => iterate(new World(folder), ...rest),
  examine: (folder, ...rest) => examine(new World(folder), ...rest),
};

process.on('message', async ({ operation, given }) => {
  try {
    process.send({ result: await operations[operation](...given) });
  } catch (error) {
    process.send({ failure: description(error) });
  }
});

process.on('disconnect', () => {
  if (root !== undefined) {
    rmSync(root, { recursive: true, force: true });
  }
  process.exit(0);
});

/** Its errors say what happened some levels further inside. */
function description(error) {
  const words = [];
  for (let at = error; at; at = at.inner && (at.inner.exception ?? at.inner.mlsError ?? at.inner)) {
    words.push(at.message ?? at.msg);
  }
  return words.filter(Boolean).join(': ') || String(error);
}
