// What does the work: the native module, or that of WebAssembly.

export let module = new Proxy({}, {
  get() {
    throw new Error('argument: call init() of endseal/init, and wait until it has ended');
  },
});

/** Is called once, before the first call of `api.js`. */
export function use(loaded) {
  module = loaded;
}
