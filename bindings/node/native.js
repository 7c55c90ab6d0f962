// The package in Node and Bun: native, or WebAssembly where there is no package of the platform.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

import { use } from './module.js';
import { imports, moduleOf } from './wasm.js';

export * from './api.js';

const require = createRequire(import.meta.url);

/** The module of this platform: beside this file, or in a package of its own. */
function load() {
  const platform = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
  for (const path of ['./endseal.node', `@endseal/${platform}`]) {
    try {
      return require(path);
    } catch (error) {
      // A module that is there and does not load is for another C library.
      if (!['MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED'].includes(error.code)) throw error;
    }
  }
  return undefined;
}

/** The module of WebAssembly. It is made at once, so that `require` works, too. */
function fallBack() {
  const bytes = readFileSync(new URL('./endseal.wasm', import.meta.url));
  const wasm = new WebAssembly.Module(bytes);
  return moduleOf({ instance: new WebAssembly.Instance(wasm, imports), module: wasm }, worker);
}

function worker() {
  const started = new Worker(new URL('./worker-node.js', import.meta.url));
  const answer = new Promise((resolve, reject) => {
    for (const failure of ['error', 'messageerror', 'exit']) started.once(failure, reject);
    started.once('message', resolve);
  });
  return { answer, post: (message) => started.postMessage(message), close: () => started.terminate() };
}

const native = load();
use(native ?? fallBack());
export const backend = Object.freeze({ kind: native ? 'native' : 'wasm' });
