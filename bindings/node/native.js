// The package in Node and Bun: native, or WebAssembly where there is no package of the platform.

import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

import { use } from './module.js';
import { base, native } from './platform.js';
import { imports, moduleOf } from './wasm.js';
import { ofNode } from './worker-of.js';

export * from './api.js';

/** The module of WebAssembly. It is made at once, so that `require` works, too. */
function fallBack() {
  const bytes = readFileSync(new URL('./endseal.wasm', base));
  const wasm = new WebAssembly.Module(bytes);
  return moduleOf({ instance: new WebAssembly.Instance(wasm, imports), module: wasm }, worker);
}

const worker = () => ofNode(new Worker(new URL('./worker-node.js', base)));

use(native ?? fallBack());
export const backend = Object.freeze({ kind: native ? 'native' : 'wasm' });
