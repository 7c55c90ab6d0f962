// End-to-end encryption of messages and files. `index.d.ts` has the documentation.

import {
  argument, attempt, attemptLater, bytesOf, checkOptions, isDate, made, optionOf, partOf, parts, textOf,
} from './checks.js';
import { failure } from './error.js';
import { module } from './module.js';

export { EndsealError } from './error.js';

const utf8 = new TextEncoder();

function textOrBytes(value, name) {
  return typeof value === 'string' ? utf8.encode(textOf(value, name)) : bytesOf(value, name);
}

function contextOf(options) {
  if (options?.context === undefined) throw argument('a context is needed');
  return textOrBytes(options.context, 'the context');
}

/** The text of a public identity; the rest is read from it when it is needed. */
class Text {
  #text;
  #key;

  constructor(text, key) {
    this.#text = text;
    this.#key = key;
  }

  get text() {
    return this.#text;
  }

  get key() {
    this.#key ??= module.PublicIdentity.parse(this.#text);
    return this.#key;
  }
}

const publicOf = (key) => made(PublicIdentity, new Text(key.text, key));

export class PublicIdentity {
  constructor() {
    throw new TypeError('PublicIdentity.parse makes public identities');
  }

  static parse(text) {
    return publicOf(attempt(() => module.PublicIdentity.parse(String(text))));
  }

  get postQuantum() {
    return partOf(this, PublicIdentity).key.postQuantum;
  }

  get short() {
    return publicOf(partOf(this, PublicIdentity).key.short);
  }

  get key() {
    return partOf(this, PublicIdentity).key.key;
  }

  equals(other) {
    return other instanceof PublicIdentity && String(this.key) === String(other.key);
  }

  toString() {
    return partOf(this, PublicIdentity).text;
  }

  toJSON() {
    return this.toString();
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return `PublicIdentity ${this}`;
  }
}

/** Keys of a list. Those of its texts are in `parsed`, too. */
function keysOf(identities, name, parsed = []) {
  if (typeof identities === 'string' || typeof identities?.[Symbol.iterator] !== 'function') {
    throw argument(`${name} must be a list of identities`);
  }
  return Array.from(identities, (it) => {
    if (typeof it !== 'string') return partOf(it, PublicIdentity, `each of ${name}`).key;
    parsed.push(attempt(() => module.PublicIdentity.parse(it)));
    return parsed.at(-1);
  });
}

/** WebAssembly learns late of objects without use: those of one call are freed at its end. */
const free = (object) => object?.free?.();

function recipientsOf(identities) {
  const parsed = [];
  try {
    const keys = keysOf(identities, 'to', parsed);
    return attempt(() => new module.Recipients(keys));
  } finally {
    parsed.forEach(free);
  }
}

export class Identity {
  constructor() {
    throw new TypeError('Identity.generate and Identity.unlock make identities');
  }

  static generate() {
    return made(Identity, attempt(() => module.Identity.generate()));
  }

  static async unlock(file, passphrase = '') {
    const words = textOf(passphrase, 'passphrase');
    const opened = () => module.Identity.unlock(textOrBytes(file, 'the file'), words);
    return made(Identity, await attemptLater(opened));
  }

  async lock(passphrase = '') {
    const words = textOf(passphrase, 'passphrase');
    return attemptLater(() => partOf(this, Identity).lock(words));
  }

  get public() {
    return publicOf(attempt(() => partOf(this, Identity).public));
  }

  dispose() {
    partOf(this, Identity).dispose();
  }

  toJSON() {
    throw new TypeError('an identity is a secret: lock() makes a file of it');
  }
}
Object.defineProperty(Identity.prototype, Symbol.dispose ?? Symbol.for('nodejs.dispose'), {
  value: Identity.prototype.dispose,
});

export class Recipients {
  constructor(of) {
    parts.set(this, recipientsOf(of));
  }

  get size() {
    return partOf(this, Recipients).size;
  }

  get postQuantum() {
    return partOf(this, Recipients).postQuantum;
  }
}

/** Runs `work` with the options as the module has them. */
function sealing(options, work) {
  checkOptions(options, ['from', 'to', 'context', 'time', 'suite', 'hideCount']);
  const context = contextOf(options);
  const { from, to, time } = options;
  const suite = optionOf(options, 'suite', 'string') ?? 'hybrid';
  const hideCount = optionOf(options, 'hideCount', 'boolean') ?? false;
  const sender = partOf(from, Identity, 'from');
  const milliseconds = time === undefined ? 0 : Number(isDate(time) ? time : NaN);
  if (time !== undefined && !(milliseconds > 0)) {
    throw argument('the time is a Date after 1970');
  }
  if (suite !== 'hybrid' && suite !== 'x25519') {
    throw argument(`the suite is hybrid or x25519, not ${suite}`);
  }
  const hybrid = suite === 'hybrid';
  const own = to instanceof Recipients ? undefined : recipientsOf(to);
  const recipients = own ?? partOf(to, Recipients);
  try {
    return attempt(() =>
      work(new module.Sealing(sender, recipients, context, milliseconds, hybrid, hideCount)));
  } finally {
    // The work has begun, and holds what it needs.
    free(own);
  }
}

function opening(options) {
  checkOptions(options, ['as', 'context', 'from', 'maxAgeMs', 'requirePostQuantum']);
  const context = contextOf(options);
  const { as, from } = options;
  const maxAgeMs = optionOf(options, 'maxAgeMs', 'number');
  if (maxAgeMs !== undefined && !(maxAgeMs >= 0)) {
    throw argument('maxAgeMs is not negative');
  }
  const requirePostQuantum = optionOf(options, 'requirePostQuantum', 'boolean') ?? false;
  // A sender who was looked for and not found is not anyone.
  if ('from' in options && from === undefined) throw argument('from is undefined');
  const senders = from === undefined ? undefined : keysOf(from, 'from');
  const identity = partOf(as, Identity, 'as');
  return attempt(
    () => new module.Opening(identity, context, senders, maxAgeMs, Date.now(), requirePostQuantum),
  );
}

function openedOf({ content, ...known }) {
  return { content, ...factsOf(known) };
}

function factsOf({ sender, messageId, time, suite }) {
  // A sender may claim any time: some have no Date.
  const stated = new Date(time ?? NaN);
  const known = Number.isNaN(stated.getTime()) ? undefined : stated;
  return { sender: made(PublicIdentity, new Text(sender)), messageId, time: known, suite };
}

export async function seal(content, options) {
  const bytes = textOrBytes(content, 'the content');
  return attemptLater(() => sealing(options, (all) => all.seal(bytes)));
}

export async function open(envelope, options) {
  const all = opening(options);
  return openedOf(await attemptLater(() => all.open(bytesOf(envelope, 'the envelope'))));
}

export async function openMany(envelopes, options) {
  const all = opening(options);
  const given = Array.from(envelopes, (it) => bytesOf(it, 'each envelope'));
  const results = await attemptLater(() => all.openMany(given));
  return results.map((it) => (typeof it === 'string' ? failure(it) : openedOf(it)));
}

export function sealStream(options) {
  const stream = sealing(options, (all) => all.stream());
  return new TransformStream({
    async transform(chunk, controller) {
      const sealed = await attemptLater(() => stream.push(textOrBytes(chunk, 'each chunk')));
      if (sealed.length > 0) controller.enqueue(sealed);
    },
    async flush(controller) {
      controller.enqueue(await attemptLater(() => stream.finish()));
    },
    // Older runtimes do not call it.
    cancel: () => free(stream),
  });
}

export async function openStream(from, options) {
  if (typeof from?.getReader !== 'function') throw argument('the source must be a ReadableStream: Readable.toWeb makes one of a stream of Node');
  const stream = attempt(() => opening(options).stream());
  const reader = from.getReader();
  let ended = false;
  /** The next content: none if more must be read, and facts once they are known. */
  const next = async () => {
    const { done, value } = await reader.read();
    ended = done;
    return attemptLater(() => (done ? stream.finish() : stream.feed(bytesOf(value, 'each chunk'))));
  };
  const end = async (error) => {
    free(stream);
    await reader.cancel(error).catch(() => {});
  };
  let first;
  try {
    do {
      first = await next();
    } while (ArrayBuffer.isView(first));
  } catch (error) {
    await end(error);
    throw error;
  }
  let pending = first.content;
  const content = new ReadableStream({
    async pull(controller) {
      try {
        while (pending.length === 0 && !ended) pending = (await next()).content;
      } catch (error) {
        await end(error);
        throw error;
      }
      if (pending.length > 0) controller.enqueue(pending);
      pending = new Uint8Array();
      if (ended) controller.close();
    },
    cancel(reason) {
      free(stream);
      return reader.cancel(reason);
    },
  });
  return { ...factsOf(first), content };
}

export function inspect(envelope) {
  return attempt(() => module.inspect(bytesOf(envelope, 'the envelope')));
}
