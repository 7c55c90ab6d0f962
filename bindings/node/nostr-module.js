// What does the work of endseal/nostr: the native module, or that of WebAssembly.

export let module;

/** Is called once, before the first call of `nostr-key.js`. */
export function use(loaded) {
  module = loaded;
}
