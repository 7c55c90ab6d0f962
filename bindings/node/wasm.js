// The classes of the native module, made from the functions of the WebAssembly module.

import { lockInWorker, unlockInWorker } from './argon2id.js';
import { handleOf } from './handle.js';
import { call, has, start } from './memory.js';
import { pause, turn } from './pause.js';
import { Chunks, ahead, isThere as hasWebCrypto, wipe } from './web-crypto.js';

export { imports } from './memory.js';

const textOf = (bytes) => new TextDecoder().decode(bytes);

const Handle = handleOf(call);

class Identity extends Handle {
  #public;

  constructor(number) {
    super('identity', number);
  }

  static generate() {
    return new Identity(call('identity_generate', []).number);
  }

  static async unlock(file, passphrase) {
    // Files without a passphrase are cheap to open.
    const start = passphrase === '' ? undefined : startWorker;
    return new Identity(await unlockInWorker(start, file, passphrase));
  }

  async lock(passphrase) {
    const start = passphrase === '' ? undefined : startWorker;
    return textOf(await lockInWorker(start, this.number, passphrase));
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

const NOTHING = new Uint8Array();

/** Longer content is given in pieces, so that memory, which cannot shrink, does not grow with it. */
const PIECE = 256 * 1024;
/** Length of a chunk of content, of a sealed one, and of its nonce. */
const [CHUNK, SEALED, NONCE] = [16_384, 16_400, 12];

/** True for so few bytes that calls of Web Cryptography cost more than they save. */
const isShort = (bytes) => bytes.length <= (hasWebCrypto() ? 4 * CHUNK : PIECE);

function* piecesOf(bytes) {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

/** Results of a call for each piece of bytes, which the caller may change meanwhile. */
async function inPieces(bytes, work) {
  if (bytes.length <= PIECE) return [work(bytes)];
  const own = new Uint8Array(bytes);
  const results = [];
  try {
    for (const piece of piecesOf(own)) {
      results.push(work(piece));
      await turn(results.length);
    }
    return results;
  } catch (error) {
    wipe(results);
    throw error;
  } finally {
    own.fill(0);
  }
}

/** Results of calls for each piece of bytes, which the caller may change meanwhile. */
async function inPiecesAhead(bytes, begin, end) {
  const own = bytes.length > PIECE ? new Uint8Array(bytes) : bytes;
  try {
    return await ahead(piecesOf(own), begin, end);
  } finally {
    if (own !== bytes) own.fill(0);
  }
}

/** Joins pieces. A single one is not copied. */
function joined(pieces) {
  if (pieces.length === 1) return pieces[0];
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
    if (isShort(content)) return call('seal', this.#args, this.#context, content).output;
    const stream = this.stream();
    try {
      return joined([...(await stream.pushed(content)), ...(await stream.finished())]);
    } finally {
      stream.free();
    }
  }

  stream() {
    if (!hasWebCrypto()) {
      return new SealStream(call('seal_stream', this.#args, this.#context).number);
    }
    const { number, output } = call('seal_detached', this.#args, this.#context);
    return new DetachedSealStream(number, output);
  }
}

class SealStream extends Handle {
  constructor(number) {
    super('seal', number);
  }

  async push(content) {
    return joined(await this.pushed(content));
  }

  async finish() {
    return joined(await this.finished());
  }

  /** Pieces of the envelope that this content completes. */
  pushed(content) {
    return inPieces(content, (piece) => call('seal_push', [this.number], piece).output);
  }

  /** The last pieces of the envelope. */
  async finished() {
    const { output } = call('seal_finish', [this.number]);
    this.free();
    return [output];
  }
}

/** Web Cryptography encrypts the chunks; everything else is done here. */
class DetachedSealStream extends SealStream {
  #chunks;
  /** Header and slots, until the first call takes them. */
  #begin;

  constructor(number, begin) {
    super(number);
    this.#begin = [begin.slice(32)];
    this.#chunks = new Chunks(begin.subarray(0, 32), 'encrypt');
  }

  /** Sealed chunks for records, which are nonces with chunks. */
  async #sealed(records) {
    const chunks = [];
    for (let at = 0; at < records.length; at += NONCE + CHUNK) {
      const record = records.subarray(at, at + NONCE + CHUNK);
      chunks.push([record.subarray(0, NONCE), record.subarray(NONCE)]);
    }
    try {
      return await this.#chunks.all(chunks);
    } finally {
      records.fill(0);
    }
  }

  async pushed(content) {
    const sealed = await inPiecesAhead(
      content,
      (piece) => this.#sealed(call('seal_push', [this.number], piece).output),
      (chunks) => chunks,
    );
    return [...this.#begin.splice(0), ...sealed];
  }

  async finished() {
    const [records] = await super.finished();
    return [...this.#begin.splice(0), ...(await this.#sealed(records))];
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
    if (isShort(envelope)) {
      const { output } = this.#call(identity, 'open', [], envelope);
      const found = opened(output);
      output.fill(0);
      return found;
    }
    const stream = this.stream(identity);
    const parts = [];
    try {
      parts.push(...(await stream.pieces(envelope)));
      parts.push(await stream.end());
      return { ...stream.facts(), content: joined(parts) };
    } finally {
      wipe(parts);
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
        } while (
          isShort(own[end - 1]) && end < own.length && isShort(own[end])
          && end - at < BATCH && length + own[end].length <= PIECE
        );
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
    if (!isShort(envelopes[0])) {
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
    if (!hasWebCrypto()) return new OpenStream(this.#call(identity, 'open_stream', []).number);
    return new DetachedOpenStream(this.#call(identity, 'detached_open', []).number);
  }

  #call(identity, name, args, ...input) {
    return call(name, [identity.number, ...this.#args, ...args], ...this.#before, ...input);
  }
}

class OpenStream extends Handle {
  #kind;

  constructor(number, kind = 'open') {
    super(kind, number);
    this.#kind = kind;
  }

  /** Content of the blocks that these bytes complete, in pieces. */
  pieces(envelope) {
    return inPieces(envelope, (piece) => call('open_feed', [this.number], piece).output);
  }

  /** The rest of the content. */
  end() {
    return call('open_finish', [this.number]).output;
  }

  /** Facts, once they are known. */
  facts() {
    const { number, output } = call(`${this.#kind}_facts`, [this.number]);
    return number === 1 ? opened(output) : undefined;
  }

  async feed(envelope) {
    const pieces = await this.pieces(envelope);
    const content = joined(pieces);
    if (pieces.length > 1) wipe(pieces);
    const facts = this.facts();
    return facts ? { ...facts, content } : content;
  }

  async finish() {
    const content = await this.end();
    const all = { ...this.facts(), content };
    this.free();
    return all;
  }
}

/** Web Cryptography decrypts the chunks. What it gives is content when its block was verified. */
class DetachedOpenStream extends OpenStream {
  /** There when all slots were read, with the nonce of the first chunk. */
  #chunks;
  #nonce;
  /** Number of the next chunk, and its beginning. */
  #next = 0;
  #held = NOTHING;

  constructor(number) {
    super(number, 'detached');
  }

  pieces(envelope) {
    // Calls of Web Cryptography begin later, and the caller may change the bytes meanwhile.
    return ahead(
      piecesOf(new Uint8Array(envelope)),
      (piece) => this.#decrypted(this.#cut(piece)),
      (chunks) => (chunks?.length === 0 ? [] : [this.#taken('detached_take', chunks)]),
    );
  }

  async end() {
    const last = this.#chunks ? [[this.#nonceOf(this.#next), this.#held]] : [];
    return this.#taken('detached_finish', await this.#decrypted(last));
  }

  /** The sealed chunks that these bytes complete, with their nonces. */
  #cut(bytes) {
    let rest = this.#chunks ? bytes : this.#begin(bytes);
    const chunks = [];
    for (;;) {
      const missing = SEALED - this.#held.length;
      const part = rest.subarray(0, missing);
      const chunk = this.#held.length > 0 ? joined([this.#held, part]) : part;
      if (rest.length < missing) {
        this.#held = chunk.slice();
        return chunks;
      }
      chunks.push([this.#nonceOf(this.#next), chunk]);
      this.#next += 1;
      this.#held = NOTHING;
      rest = rest.subarray(missing);
    }
  }

  /** Gives header and slots to the module. Returns what is behind them. */
  #begin(bytes) {
    const { number, output } = call('detached_feed', [this.number], bytes);
    if (output.length > 0) {
      this.#nonce = output.slice(32);
      this.#chunks = new Chunks(output.subarray(0, 32), 'decrypt');
    }
    return bytes.subarray(number);
  }

  #nonceOf(chunk) {
    const nonce = this.#nonce.slice();
    const view = new DataView(nonce.buffer);
    view.setBigUint64(4, view.getBigUint64(4) ^ BigInt(chunk));
    return nonce;
  }

  /** Plaintexts of chunks, or none if one is not authentic. */
  async #decrypted(chunks) {
    if (chunks.length === 0) return [];
    try {
      return await this.#chunks.all(chunks);
    } catch (error) {
      if (error?.name !== 'OperationError') throw error;
      return undefined;
    }
  }

  #taken(name, chunks) {
    // No chunk is as long as the last one must not be: the module ends the stream in its own error.
    if (!chunks) return call('detached_finish', [this.number], new Uint8Array(CHUNK)).output;
    try {
      return call(name, [this.number], ...chunks).output;
    } finally {
      wipe(chunks);
    }
  }
}

function inspect(envelope) {
  const { number, output } = call('inspect', [], envelope);
  const length = new DataView(output.buffer).getFloat64(0, true);
  const contentLength = Number.isNaN(length) ? undefined : length;
  return { suite: textOf(output.subarray(8)), slots: number, contentLength };
}

/** Starts a worker of this runtime; undefined where there are none. */
let startWorker;

/**
 * Returns what the native module has, from an instance. `worker` makes a worker of the runtime,
 * which gets the compiled module.
 */
export function moduleOf({ instance, module }, worker) {
  start(instance);
  startWorker = worker && (() => {
    const { post, ...rest } = worker();
    return { ...rest, post: (message) => post({ ...message, module }) };
  });
  const all = { Identity, PublicIdentity, Recipients, Sealing, Opening, inspect };
  if (!has('identity_from_seeds')) return all;
  const identityFromSeeds = (...seeds) => new Identity(call('identity_from_seeds', [], ...seeds).number);
  return { ...all, identityFromSeeds };
}
