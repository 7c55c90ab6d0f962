// What does the work of endseal/roster: the native module, or that of WebAssembly.

export let module;

/** Is called once, before the first call of `roster-api.js`. */
export function use(loaded) {
  module = loaded;
}
