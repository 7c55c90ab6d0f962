// The package where modules cannot await, as in service workers: `init` loads WebAssembly.

import { compiled } from './download.js';
import { use } from './module.js';
import { imports, moduleOf } from './wasm.js';
import { ofPage } from './worker-of.js';

export * from './api.js';

export const backend = Object.freeze({ kind: 'wasm' });

let loading;

export function init(source = new URL('./endseal.wasm', import.meta.url)) {
  loading ??= load(source).catch((error) => {
    // The network may come back.
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(source) {
  const module = await compiled(source);
  const instance = await WebAssembly.instantiate(module, imports);
  // Service workers cannot start workers.
  use(moduleOf({ instance, module }, globalThis.Worker && worker));
}

const worker = () => ofPage(new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }));
