// Calls of the WebAssembly module, whose memory is wiped after each of them.

let wasm;
/** Place of random bytes in the memory. */
let entropy;
/** The error that left the module in no known state. */
let failed;

/** Imports of the module. */
export const imports = { endseal: { fill_entropy } };

/** Uses the one instance of the module. */
export function start(instance) {
  wasm = instance.exports;
  entropy = wasm.entropy() >>> 0;
}

/** True if the module has a function. */
export const has = (name) => name in wasm;

/** Memory grows, and then older views are empty. */
const view = (address, length) => new Uint8Array(wasm.memory.buffer, address, length);

function fill_entropy(length) {
  try {
    crypto.getRandomValues(view(entropy, length));
    return 1;
  } catch {
    return 0;
  }
}

/** A call that ends in a trap leaves locks and its stack behind: it was the last one. */
function enter(name, args) {
  if (failed) stop();
  try {
    return wasm[name](...args);
  } catch (error) {
    // Without room for a call of anything, if the stack of JavaScript was used up.
    failed = error;
    stop();
  }
}

function stop() {
  view(0).fill(0);
  throw new Error('endseal has stopped', { cause: failed });
}

const utf8 = new TextEncoder();

/** Length of a text in UTF-8. */
export function utf8Length(text) {
  let length = 0;
  for (const character of text) {
    const point = character.codePointAt(0);
    length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return length;
}

/** Writes bytes and texts, one after the other. */
function write(values) {
  const lengths = values.map((it) => (typeof it === 'string' ? utf8Length(it) : it.length));
  const address = enter('reserve', [lengths.reduce((sum, it) => sum + it, 0)]) >>> 0;
  if (address === 0) throw new Error('argument: there is not as much memory');
  let at = address;
  for (const [index, value] of values.entries()) {
    const place = view(at, lengths[index]);
    // A text is written without a copy in memory of JavaScript.
    if (typeof value === 'string') utf8.encodeInto(value, place);
    else place.set(value);
    at += lengths[index];
  }
}

/** Calls with public arguments and results leave nothing to wipe but their input. */
const isPublic = (name) => /^(public|recipients|inspect)/.test(name);

/** The stack is the beginning of the memory, and grows towards its address 0. */
function wipe(name) {
  enter('release', []);
  if (!isPublic(name)) view(0, wasm.__stack_pointer.value).fill(0);
}

/**
 * Calls a function. `input` is what it reads beside the numbers `args`; it returns a number, and
 * output. An error has code and text: `header: not an envelope`.
 */
export function call(name, args, ...input) {
  try {
    if (input.length > 0) write(input);
    const number = enter(name, args);
    const output = view(enter('output', []) >>> 0, enter('output_len', []) >>> 0).slice();
    if (number < 0) throw new Error(new TextDecoder().decode(output));
    return { number, output };
  } finally {
    if (!failed) wipe(name);
  }
}
