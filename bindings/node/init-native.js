// `endseal/init` in Node and Bun, where there is nothing to wait for.

export * from './native.js';

export async function init() {}
