// endseal/nostr in browsers, Deno and other places: WebAssembly.

import { compiled } from './download.js';
import { nostr } from './memory.js';
import { use } from './nostr-module.js';
import { moduleOf } from './nostr-wasm.js';
import { ofPage } from './worker-of.js';

export * from './nostr-api.js';

export const backend = Object.freeze({ kind: 'wasm' });

const worker = () =>
  ofPage(new Worker(new URL('./nostr-worker.js', import.meta.url), { type: 'module' }));

const module = await compiled(new URL('./nostr.wasm', import.meta.url));
const instance = await WebAssembly.instantiate(module, nostr.imports);
use(moduleOf({ instance, module }, globalThis.Worker && worker));
