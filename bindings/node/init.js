// The package where modules cannot await, as in service workers: `init` loads WebAssembly.

import { use } from './module.js';
import { imports, moduleOf } from './wasm.js';

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
  const isFile = typeof source === 'string' || source instanceof URL;
  const given = isFile ? await download(source) : source;
  const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given);
  const instance = await WebAssembly.instantiate(module, imports);
  // Service workers cannot start workers.
  use(moduleOf({ instance, module }, globalThis.Worker && worker));
}

async function download(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  const bytes = await response.arrayBuffer();
  // A server may answer with a page in the place of a file that is missing.
  const isWasm = bytes.byteLength >= 4 && new DataView(bytes).getUint32(0) === 0x0061736d;
  if (!isWasm) throw new Error(`${url} is no WebAssembly`);
  return bytes;
}

function worker() {
  const started = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  const answer = new Promise((resolve, reject) => {
    started.onmessage = ({ data }) => resolve(data);
    started.onmessageerror = reject;
    started.onerror = (event) => {
      event.preventDefault();
      reject(event);
    };
  });
  return { answer, post: (message) => started.postMessage(message), close: () => started.terminate() };
}
