// The package in browsers, Deno and other places: WebAssembly.

import { init } from './init.js';

export * from './api.js';
export { backend } from './init.js';

await init();
