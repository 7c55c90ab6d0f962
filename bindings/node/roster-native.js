// endseal/roster in Node and Bun: native, or WebAssembly where there is no package of the platform.

import './native.js';
import { readFileSync } from 'node:fs';

import { base, native } from './platform.js';
import { use } from './roster-module.js';
import { imports, moduleOf } from './roster-wasm.js';

export * from './roster-api.js';

/** The module of WebAssembly. It is made at once, so that `require` works, too. */
function fallBack() {
  const module = new WebAssembly.Module(readFileSync(new URL('./roster.wasm', base)));
  return moduleOf(new WebAssembly.Instance(module, imports));
}

use(native?.rosterRead ? { read: native.rosterRead, readNext: native.rosterReadNext } : fallBack());
