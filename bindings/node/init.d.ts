export * from './index.js';

/**
 * Loads WebAssembly, once, where modules cannot await their loading: in service workers, and in
 * bundles without modules. Every other call fails before it has ended. After an error it can be called
 * again. `source` is the file `endseal.wasm`, if it is not beside this module. In Node and Bun it does
 * nothing.
 */
export function init(source?: string | URL | BufferSource | WebAssembly.Module): Promise<void>;
