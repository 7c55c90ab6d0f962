// End-to-end encryption of messages and files. `index.d.ts` has the documentation.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const native = load();

/** The module of this platform: beside this file, or in a package of its own. */
function load() {
  const platform = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
  const tried = [];
  for (const path of ['./endseal.node', `@endseal/${platform}`]) {
    try {
      return require(path);
    } catch (error) {
      tried.push(error);
    }
  }
  throw new Error(`endseal has no native module for ${platform}`, { cause: tried });
}

const utf8 = new TextEncoder();

export class EndsealError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'EndsealError';
    this.code = code;
  }
}

/** The native part writes the code before the text. */
function failure(error) {
  const [, code, message] = /^([a-z0-9-]+): ([^]*)$/.exec(error?.message ?? error) ?? [];
  return code ? new EndsealError(code, message) : error;
}

function attempt(work) {
  try {
    return work();
  } catch (error) {
    throw failure(error);
  }
}

async function attemptLater(work) {
  try {
    return await work();
  } catch (error) {
    throw failure(error);
  }
}

function bytesOf(value, name) {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'string') return utf8.encode(value);
  throw new EndsealError('argument', `${name} is a Uint8Array or a string`);
}

/** An option of a type, or undefined. */
function optionOf(options, name, type) {
  const value = options[name];
  if (value === undefined || typeof value === type) return value;
  throw new EndsealError('argument', `${name} is a ${type}`);
}

function contextOf(options) {
  if (options?.context === undefined) throw new EndsealError('argument', 'a context is needed');
  return bytesOf(options.context, 'the context');
}

/** Native parts of the objects of this package. No object has a property with a secret. */
const parts = new WeakMap();

function partOf(value, kind) {
  const part = value instanceof kind ? parts.get(value) : undefined;
  if (!part) throw new EndsealError('argument', `an object of ${kind.name} is needed`);
  return part;
}

function made(kind, part) {
  const object = Object.create(kind.prototype);
  parts.set(object, part);
  return object;
}

export class PublicIdentity {
  constructor() {
    throw new TypeError('PublicIdentity.parse makes public identities');
  }

  static parse(text) {
    return made(PublicIdentity, attempt(() => native.PublicIdentity.parse(String(text))));
  }

  get postQuantum() {
    return partOf(this, PublicIdentity).postQuantum;
  }

  get short() {
    return made(PublicIdentity, partOf(this, PublicIdentity).short);
  }

  get key() {
    return partOf(this, PublicIdentity).key;
  }

  equals(other) {
    return other instanceof PublicIdentity && String(this) === String(other);
  }

  isSamePerson(other) {
    return other instanceof PublicIdentity && String(this.short) === String(other.short);
  }

  toString() {
    return partOf(this, PublicIdentity).text;
  }

  toJSON() {
    return this.toString();
  }
}

function publicParts(identities, name) {
  if (typeof identities === 'string' || typeof identities?.[Symbol.iterator] !== 'function') {
    throw new EndsealError('argument', `${name} is a list of identities`);
  }
  return Array.from(identities, (it) =>
    partOf(typeof it === 'string' ? PublicIdentity.parse(it) : it, PublicIdentity));
}

export class Identity {
  constructor() {
    throw new TypeError('Identity.generate and Identity.unlock make identities');
  }

  static generate() {
    return made(Identity, attempt(() => native.Identity.generate()));
  }

  static async unlock(file, passphrase = '') {
    const words = optionOf({ passphrase }, 'passphrase', 'string');
    const opened = () => native.Identity.unlock(bytesOf(file, 'the file'), words);
    return made(Identity, await attemptLater(opened));
  }

  async lock(passphrase) {
    const words = optionOf({ passphrase }, 'passphrase', 'string') ?? '';
    return attemptLater(() => partOf(this, Identity).lock(words));
  }

  get public() {
    return made(PublicIdentity, attempt(() => partOf(this, Identity).public));
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
    const all = publicParts(of, 'the argument');
    parts.set(this, attempt(() => new native.Recipients(all)));
  }

  get size() {
    return partOf(this, Recipients).size;
  }

  get postQuantum() {
    return partOf(this, Recipients).postQuantum;
  }
}

function sealing(options) {
  const context = contextOf(options);
  const { from, to, time } = options;
  const suite = optionOf(options, 'suite', 'string') ?? 'hybrid';
  const hideCount = optionOf(options, 'hideCount', 'boolean') ?? false;
  const sender = partOf(from, Identity);
  const recipients = partOf(to instanceof Recipients ? to : new Recipients(to), Recipients);
  const milliseconds = time === undefined ? 0 : Number(time instanceof Date ? time : NaN);
  if (time !== undefined && !(milliseconds > 0)) {
    throw new EndsealError('argument', 'the time is a Date after 1970');
  }
  return attempt(
    () => new native.Sealing(sender, recipients, context, milliseconds, suite, hideCount),
  );
}

function opening(options) {
  const context = contextOf(options);
  const { as, from } = options;
  const maxAgeMs = optionOf(options, 'maxAgeMs', 'number');
  if (maxAgeMs !== undefined && !(maxAgeMs >= 0)) {
    throw new EndsealError('argument', 'maxAgeMs is not negative');
  }
  const requirePostQuantum = optionOf(options, 'requirePostQuantum', 'boolean') ?? false;
  const senders = from === undefined ? undefined : publicParts(from, 'from');
  const identity = partOf(as, Identity);
  return attempt(
    () => new native.Opening(identity, context, senders, maxAgeMs, requirePostQuantum),
  );
}

function openedOf({ content, ...known }) {
  return { content, ...factsOf(known) };
}

function factsOf({ sender, messageId, time, suite }) {
  // A sender may claim any time: some have no Date.
  const stated = new Date(time ?? NaN);
  const known = Number.isNaN(stated.getTime()) ? undefined : stated;
  return { sender: PublicIdentity.parse(sender), messageId, time: known, suite };
}

export async function seal(content, options) {
  const all = sealing(options);
  return attemptLater(() => all.seal(bytesOf(content, 'the content')));
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
  const stream = attempt(() => sealing(options).stream());
  return new TransformStream({
    async transform(chunk, controller) {
      const sealed = await attemptLater(() => stream.push(bytesOf(chunk, 'each chunk')));
      if (sealed.length > 0) controller.enqueue(sealed);
    },
    async flush(controller) {
      controller.enqueue(await attemptLater(() => stream.finish()));
    },
  });
}

export async function openStream(from, options) {
  const stream = attempt(() => opening(options).stream());
  const reader = from.getReader();
  let ended = false;
  /** The next content: none if more must be read, and facts once they are known. */
  const next = async () => {
    const { done, value } = await reader.read();
    ended = done;
    return attemptLater(() => (done ? stream.finish() : stream.feed(bytesOf(value, 'each chunk'))));
  };
  let first;
  try {
    do {
      first = await next();
    } while (first instanceof Uint8Array);
  } catch (error) {
    await reader.cancel(error).catch(() => {});
    throw error;
  }
  let pending = first.content;
  const content = new ReadableStream({
    async pull(controller) {
      try {
        while (pending.length === 0 && !ended) pending = (await next()).content;
      } catch (error) {
        await reader.cancel(error).catch(() => {});
        throw error;
      }
      if (pending.length > 0) controller.enqueue(pending);
      pending = new Uint8Array();
      if (ended) controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { ...factsOf(first), content };
}

export function inspect(envelope) {
  return attempt(() => native.inspect(bytesOf(envelope, 'the envelope')));
}

export const backend = Object.freeze({ kind: 'native' });

// Of a build for the vectors alone.
if (native.identityFromSeeds) {
  Identity.fromSeeds = (...seeds) => made(Identity, native.identityFromSeeds(...seeds));
}
