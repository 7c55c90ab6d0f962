// The classes of the native module, made from the functions of the WebAssembly module.

import { call, has, start, utf8Length } from './memory.js';

export { imports } from './memory.js';

const textOf = (bytes) => new TextDecoder().decode(bytes);

/** Objects that were not freed are freed when JavaScript has no use for them. */
const forgotten = new FinalizationRegistry(({ kind, number }) => {
  try {
    call(`${kind}_free`, [number]);
  } catch {
    // The module has stopped, and its memory was wiped.
  }
});

/** An object of the module, which knows it by a number. */
class Handle {
  #kind;
  #number;

  constructor(kind, number) {
    this.#kind = kind;
    this.#number = number;
    forgotten.register(this, { kind, number }, this);
  }

  get number() {
    if (!this.#number) throw new Error(`argument: the ${this.#kind} was disposed of`);
    return this.#number;
  }

  free() {
    if (!this.#number) return;
    forgotten.unregister(this);
    call(`${this.#kind}_free`, [this.#number]);
    this.#number = 0;
  }
}

class Identity extends Handle {
  #public;

  constructor(number) {
    super('identity', number);
  }

  static generate() {
    return new Identity(call('identity_generate', []).number);
  }

  static unlock(file, passphrase) {
    const lengths = [file.length, utf8Length(passphrase)];
    const texts = [passphrase, passphrase.normalize('NFKC')];
    return new Identity(call('identity_unlock', lengths, file, ...texts).number);
  }

  lock(passphrase) {
    const args = [this.number, utf8Length(passphrase)];
    return textOf(call('identity_lock', args, passphrase, passphrase.normalize('NFKC')).output);
  }

  get public() {
    const { number } = this;
    this.#public ??= new PublicIdentity(call('identity_public', [number]).number);
    return this.#public;
  }

  /** Another object for the same keys. */
  share() {
    return new Identity(call('identity_share', [this.number]).number);
  }

  dispose() {
    this.free();
  }
}

class PublicIdentity extends Handle {
  #text;

  constructor(number) {
    super('public', number);
  }

  static parse(text) {
    return new PublicIdentity(call('public_parse', [], text).number);
  }

  get text() {
    this.#text ??= textOf(call('public_text', [this.number]).output);
    return this.#text;
  }

  get postQuantum() {
    return call('public_is_post_quantum', [this.number]).number === 1;
  }

  get short() {
    return new PublicIdentity(call('public_short', [this.number]).number);
  }

  get key() {
    return call('public_key', [this.number]).output;
  }
}

const numbersOf = (handles) => {
  const bytes = new DataView(new ArrayBuffer(4 * handles.length));
  handles.forEach((it, index) => bytes.setUint32(4 * index, it.number, true));
  return new Uint8Array(bytes.buffer);
};

class Recipients extends Handle {
  constructor(identities) {
    super('recipients', call('recipients_new', [], numbersOf(identities)).number);
  }

  get size() {
    return call('recipients_len', [this.number]).number;
  }

  get postQuantum() {
    return call('recipients_is_post_quantum', [this.number]).number === 1;
  }
}

/** Longer content is given in pieces, so that memory, which cannot shrink, does not grow with it. */
const PIECE = 256 * 1024;
/** Number of pieces after which other tasks of the thread have their turn. */
const TURN = 4;

/** Ends when other tasks had their turn. Timers of browsers wait for 4 ms. */
function pause() {
  if (globalThis.setImmediate) return new Promise((next) => setImmediate(next));
  const { port1, port2 } = new MessageChannel();
  const turn = new Promise((next) => {
    port1.onmessage = next;
  });
  port2.postMessage(undefined);
  return turn.then(() => port1.close());
}

/** Results of a call for each piece of bytes, which the caller may change meanwhile. */
async function inPieces(bytes, work) {
  if (bytes.length <= PIECE) return work(bytes);
  const own = new Uint8Array(bytes);
  const results = [];
  try {
    for (let at = 0; at < own.length; at += PIECE) {
      results.push(work(own.subarray(at, at + PIECE)));
      if ((at / PIECE) % TURN === TURN - 1) await pause();
    }
    return joined(results);
  } finally {
    for (const it of [own, ...results]) it.fill(0);
  }
}

function joined(pieces) {
  const all = new Uint8Array(pieces.reduce((sum, it) => sum + it.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

class Sealing {
  #args;
  #context;

  constructor(sender, recipients, context, time, hybrid, hidesCount) {
    this.#context = new Uint8Array(context);
    this.#args = [sender.number, recipients.number, context.length, time, hybrid, hidesCount];
  }

  async seal(content) {
    if (content.length <= PIECE) return call('seal', this.#args, this.#context, content).output;
    const stream = this.stream();
    try {
      return joined([await stream.push(content), stream.finish()]);
    } finally {
      stream.free();
    }
  }

  stream() {
    return new SealStream(call('seal_stream', this.#args, this.#context).number);
  }
}

class SealStream extends Handle {
  constructor(number) {
    super('seal', number);
  }

  push(content) {
    return inPieces(content, (piece) => call('seal_push', [this.number], piece).output);
  }

  finish() {
    const { output } = call('seal_finish', [this.number]);
    this.free();
    return output;
  }
}

/** Facts, as `record.rs` writes them, and the content behind them. */
function opened(record) {
  const view = new DataView(record.buffer, record.byteOffset);
  const time = view.getFloat64(16, true);
  const sender = 26 + record[24];
  const content = sender + record[25];
  return {
    content: record.slice(content),
    messageId: record.slice(0, 16),
    time: Number.isNaN(time) ? undefined : time,
    suite: textOf(record.subarray(26, sender)),
    sender: textOf(record.subarray(sender, content)),
  };
}

/** Greatest number of envelopes that are opened in one call. */
const BATCH = 64;

class Opening {
  #identity;
  #args;
  #before;

  constructor(identity, context, senders, maxAge, now, requiresPostQuantum) {
    this.#identity = identity;
    const accepted = senders && numbersOf(senders);
    this.#before = [new Uint8Array(context), accepted ?? new Uint8Array()];
    const lengths = [context.length, accepted?.length ?? -1];
    this.#args = [...lengths, maxAge ?? -1, now, requiresPostQuantum];
  }

  open(envelope) {
    return this.#open(this.#identity, envelope);
  }

  async #open(identity, envelope) {
    if (envelope.length <= PIECE) {
      const { output } = this.#call(identity, 'open', [], envelope);
      const found = opened(output);
      output.fill(0);
      return found;
    }
    const stream = this.stream(identity);
    const parts = [];
    try {
      parts.push(await stream.content(envelope));
      parts.push(stream.end());
      return { ...stream.facts(), content: joined(parts) };
    } finally {
      for (const it of parts) it.fill(0);
      stream.free();
    }
  }

  async openMany(envelopes) {
    const own = envelopes.map((it) => new Uint8Array(it));
    // The caller may dispose of the identity while others have their turn.
    const identity = this.#identity.share();
    const results = [];
    try {
      for (let at = 0; at < own.length; ) {
        let [end, length] = [at, 0];
        do {
          length += own[end].length;
          end += 1;
        } while (end < own.length && end - at < BATCH && length + own[end].length <= PIECE);
        results.push(...(await this.#batch(identity, own.slice(at, end))));
        at = end;
        if (at < own.length) await pause();
      }
    } finally {
      identity.free();
    }
    return results;
  }

  /** The results, which are texts for errors. */
  async #batch(identity, envelopes) {
    if (envelopes[0].length > PIECE) {
      return [await this.#open(identity, envelopes[0]).catch((error) => error.message)];
    }
    const lengths = new DataView(new ArrayBuffer(4 * envelopes.length));
    envelopes.forEach((it, index) => lengths.setUint32(4 * index, it.length, true));
    const input = [new Uint8Array(lengths.buffer), ...envelopes];
    const { output } = this.#call(identity, 'open_many', [envelopes.length], ...input);
    const view = new DataView(output.buffer);
    const results = [];
    for (let at = 0; at < output.length; ) {
      const record = output.subarray(at + 5, at + 5 + view.getUint32(at, true));
      results.push(output[at + 4] === 1 ? opened(record) : textOf(record));
      at += 5 + record.length;
    }
    output.fill(0);
    return results;
  }

  stream(identity = this.#identity) {
    return new OpenStream(this.#call(identity, 'open_stream', []).number);
  }

  #call(identity, name, args, ...input) {
    return call(name, [identity.number, ...this.#args, ...args], ...this.#before, ...input);
  }
}

class OpenStream extends Handle {
  constructor(number) {
    super('open', number);
  }

  /** Content of the blocks that these bytes complete. */
  content(envelope) {
    return inPieces(envelope, (piece) => call('open_feed', [this.number], piece).output);
  }

  /** The rest of the content. */
  end() {
    return call('open_finish', [this.number]).output;
  }

  /** Facts, once they are known. */
  facts() {
    const { number, output } = call('open_facts', [this.number]);
    return number === 1 ? opened(output) : undefined;
  }

  async feed(envelope) {
    const content = await this.content(envelope);
    const facts = this.facts();
    return facts ? { ...facts, content } : content;
  }

  finish() {
    const content = this.end();
    const all = { ...this.facts(), content };
    this.free();
    return all;
  }
}

function inspect(envelope) {
  const { number, output } = call('inspect', [], envelope);
  const length = new DataView(output.buffer).getFloat64(0, true);
  const contentLength = Number.isNaN(length) ? undefined : length;
  return { suite: textOf(output.subarray(8)), slots: number, contentLength };
}

/** Returns what the native module has, from an instance. */
export function moduleOf(instance) {
  start(instance);
  const all = { Identity, PublicIdentity, Recipients, Sealing, Opening, inspect };
  if (!has('identity_from_seeds')) return all;
  const identityFromSeeds = (...seeds) => new Identity(call('identity_from_seeds', [], ...seeds).number);
  return { ...all, identityFromSeeds };
}
