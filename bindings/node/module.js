// What does the work: the native module, or that of WebAssembly.

export let module;

/** Is called once, before the first call of `api.js`. */
export function use(loaded) {
  module = loaded;
}
