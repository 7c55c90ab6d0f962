// The package in browsers, Deno and other places: WebAssembly.

import { use } from './module.js';
import { imports, moduleOf } from './wasm.js';

export * from './api.js';

const url = new URL('./endseal.wasm', import.meta.url);
const response = await fetch(url);
if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
const bytes = await response.arrayBuffer();
// A server may answer with a page in the place of a file that is missing.
if (new DataView(bytes).getUint32(0) !== 0x0061736d) throw new Error(`${url} is no WebAssembly`);
use(moduleOf((await WebAssembly.instantiate(bytes, imports)).instance));
export const backend = Object.freeze({ kind: 'wasm' });
