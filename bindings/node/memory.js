// Calls of a WebAssembly module, whose memory is wiped after each of them.

import { EndsealError } from './error.js';

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

/** One instance of a module. */
class Memory {
  #wasm;
  /** Place of random bytes in the memory. */
  #entropy;
  /** The error that left the module in no known state. */
  #failed;
  /** Names of calls with public arguments and results: they leave nothing to wipe but their input. */
  #isPublic;

  constructor(isPublic) {
    this.#isPublic = isPublic;
  }

  /** Uses the one instance of the module. */
  start(instance) {
    this.#wasm = instance.exports;
    this.#entropy = this.#wasm.entropy() >>> 0;
  }

  /** True if the module has a function. */
  has(name) {
    return name in this.#wasm;
  }

  fillEntropy(length) {
    try {
      crypto.getRandomValues(this.#view(this.#entropy, length));
      return 1;
    } catch {
      return 0;
    }
  }

  /** Memory grows, and then older views are empty. */
  #view(address, length) {
    return new Uint8Array(this.#wasm.memory.buffer, address, length);
  }

  /** A call that ends in a trap leaves locks and its stack behind: it was the last one. */
  #enter(name, args) {
    if (this.#failed) this.#stop();
    try {
      return this.#wasm[name](...args);
    } catch (error) {
      // Without room for a call of anything, if the stack of JavaScript was used up.
      this.#failed = error;
      this.#stop();
    }
  }

  #stop() {
    this.#view(0).fill(0);
    throw Object.assign(new EndsealError('stopped', 'endseal has stopped'), { cause: this.#failed });
  }

  /** Writes bytes and texts, one after the other. */
  #write(values) {
    const lengths = values.map((it) => (typeof it === 'string' ? utf8Length(it) : it.length));
    const address = this.#enter('reserve', [lengths.reduce((sum, it) => sum + it, 0)]) >>> 0;
    if (address === 0) throw new Error('argument: there is not as much memory');
    let at = address;
    for (const [index, value] of values.entries()) {
      const place = this.#view(at, lengths[index]);
      // A text is written without a copy in memory of JavaScript.
      if (typeof value === 'string') utf8.encodeInto(value, place);
      else place.set(value);
      at += lengths[index];
    }
  }

  /** The stack is the beginning of the memory, and grows towards its address 0. */
  #wipe(name) {
    this.#enter('release', []);
    if (!this.#isPublic.test(name)) this.#view(0, this.#wasm.__stack_pointer.value).fill(0);
  }

  /**
   * Calls a function. `input` is what it reads beside the numbers `args`; it returns a number, and
   * output. An error has code and text: `header: not an envelope`.
   */
  call(name, args, ...input) {
    try {
      if (input.length > 0) this.#write(input);
      const number = this.#enter(name, args);
      const address = this.#enter('output', []) >>> 0;
      const output = this.#view(address, this.#enter('output_len', []) >>> 0).slice();
      if (number < 0) throw new Error(new TextDecoder().decode(output));
      return { number, output };
    } finally {
      if (!this.#failed) this.#wipe(name);
    }
  }
}

/** Functions of one instance, and the imports that it is made with. */
function memoryOf(isPublic) {
  const memory = new Memory(isPublic);
  return {
    imports: { endseal: { fill_entropy: (length) => memory.fillEntropy(length) } },
    start: (instance) => memory.start(instance),
    has: (name) => memory.has(name),
    call: (name, args, ...input) => memory.call(name, args, ...input),
  };
}

export const { imports, start, has, call } = memoryOf(/^(public|recipients|inspect)/);
/** The module of `endseal/nostr`. */
export const nostr = memoryOf(/^(public_key|verify)/);
/** The module of `endseal/roster`. */
export const roster = memoryOf(/./);

/** Texts of an output, each behind its length. */
export function textsOf({ output }) {
  const [view, utf8] = [new DataView(output.buffer), new TextDecoder()];
  const texts = [];
  for (let at = 0; at < output.length; ) {
    const end = at + 4 + view.getUint32(at, true);
    texts.push(utf8.decode(output.subarray(at + 4, end)));
    at = end;
  }
  output.fill(0);
  return texts;
}
