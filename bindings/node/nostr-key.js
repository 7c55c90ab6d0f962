// Keys of Nostr.

import {
  argument, attempt, attemptLater, checkOptions, made, optionOf, partOf, textOf,
} from './checks.js';
import { module } from './nostr-module.js';

/** Greatest cost of an encrypted key that is read: 256 MiB. */
const MAX_LOG_N = 18;
/** Cost of one that is made: 64 MiB. */
const LOG_N = 16;
/** The latest time of a `Date`, in milliseconds. */
const LAST_DATE = 8.64e15;
/** Kind of a private message of text. */
const PRIVATE_MESSAGE = 14;

export const now = () => Math.floor(Date.now() / 1000);

/** JSON of an event, which is text or an object. */
function jsonOf(event, name = 'the event') {
  if (typeof event === 'string') return event;
  if (event === null || typeof event !== 'object') throw argument(`${name} is an object`);
  return JSON.stringify(event);
}

/** The template of an event with all that a signer needs. */
export function templateOf(event) {
  if (event === null || typeof event !== 'object') throw argument('the event is an object');
  const given = Object.entries(event).filter(([, value]) => value !== undefined);
  return { created_at: now(), tags: [], content: '', ...Object.fromEntries(given) };
}

/** An integer among the options. */
function integerOf(options, name, least, most) {
  const value = optionOf(options, name, 'number');
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return value;
  throw argument(`${name} is an integer from ${least} to ${most}`);
}

/** What the module has of a key. */
export const keyOf = (key, name = 'key') => partOf(key, NostrKey, name);

export class NostrKey {
  constructor() {
    throw new TypeError('NostrKey.generate and NostrKey.unlock make keys');
  }

  static generate() {
    return made(NostrKey, attempt(() => module.NostrKey.generate()));
  }

  static async unlock(ncryptsec, passphrase, options) {
    checkOptions(options, ['maxLogN']);
    const maxLogN = integerOf(options, 'maxLogN', 1, 22) ?? MAX_LOG_N;
    const password = textOf(passphrase, 'the passphrase').normalize('NFKC');
    const text = textOf(ncryptsec, 'the encrypted key').trim();
    return made(NostrKey, await attemptLater(() => module.NostrKey.unlock(text, password, maxLogN)));
  }

  async lock(passphrase, options) {
    checkOptions(options, ['logN']);
    const logN = integerOf(options, 'logN', LOG_N, 22) ?? LOG_N;
    const password = textOf(passphrase, 'the passphrase').normalize('NFKC');
    return attemptLater(() => keyOf(this).lock(password, logN));
  }

  get publicKey() {
    return attempt(() => keyOf(this).public);
  }

  async encrypt(peer, text) {
    return attempt(() => keyOf(this).encrypt(textOf(peer, 'the public key'), textOf(text, 'the text')));
  }

  async decrypt(peer, payload) {
    const sender = textOf(peer, 'the public key');
    return attempt(() => keyOf(this).decrypt(sender, textOf(payload, 'the payload')));
  }

  async sign(event) {
    return JSON.parse(attempt(() => keyOf(this).sign(jsonOf(templateOf(event)))));
  }

  async wrap(message, options) {
    checkOptions(options, ['to', 'ephemeral', 'expiresAfterMs']);
    const to = options?.to;
    if (typeof to === 'string' || typeof to?.[Symbol.iterator] !== 'function') {
      throw argument('to must be a list of public keys');
    }
    const expires = optionOf(options, 'expiresAfterMs', 'number');
    if (expires !== undefined && !(expires >= 0)) throw argument('expiresAfterMs is not negative');
    const ephemeral = optionOf(options, 'ephemeral', 'boolean') ?? false;
    const key = keyOf(this);
    const recipients = Array.from(to, publicKey);
    const receivers = attempt(() => key.receivers(recipients));
    const tags = receivers.slice(0, -1).map((it) => ['p', it]);
    const template = jsonOf(templateOf(
      typeof message === 'string' ? { kind: PRIVATE_MESSAGE, tags, content: message } : message,
    ));
    const rumor = JSON.parse(attempt(() => key.rumor(template)));
    const after = expires === undefined ? -1 : Math.floor(expires / 1000);
    const wraps = await attemptLater(() => key.wrap(template, receivers, ephemeral, after, now()));
    return { rumor, copies: wraps.map((it, at) => ({ receiver: receivers[at], event: JSON.parse(it) })) };
  }

  async unwrap(event) {
    const { rumor, expiration, isEphemeral } = attempt(() => keyOf(this).unwrap(jsonOf(event)));
    const expires = typeof expiration === 'number'
      ? new Date(Math.min(expiration * 1000, LAST_DATE)) : undefined;
    return { rumor: JSON.parse(rumor), expiration: expires, ephemeral: isEphemeral };
  }

  dispose() {
    keyOf(this).dispose();
  }

  toJSON() {
    throw new TypeError('a key is a secret: lock() makes a text of it');
  }
}
Object.defineProperty(NostrKey.prototype, Symbol.dispose ?? Symbol.for('nodejs.dispose'), {
  value: NostrKey.prototype.dispose,
});

export function publicKey(text) {
  return attempt(() => module.publicKey(textOf(text, 'the public key')));
}

export async function verifyEvent(event) {
  attempt(() => module.verify(jsonOf(event)));
}
