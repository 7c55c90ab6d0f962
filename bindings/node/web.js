// The package in browsers, Deno and other places: WebAssembly.

import { use } from './module.js';
import { instantiate } from './wasm.js';

export * from './api.js';

const response = await fetch(new URL('./endseal.wasm', import.meta.url));
if (!response.ok) throw new Error(`endseal.wasm: ${response.status} ${response.statusText}`);
use(await instantiate(await response.arrayBuffer()));
export const backend = Object.freeze({ kind: 'wasm' });
