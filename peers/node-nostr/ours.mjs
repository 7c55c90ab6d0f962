// The vectors of docs/spec/nostr.md: by file, what nostr-tools does with a case. A check gives what is
// wrong, or nothing; one that says `SKIPPED` is about something that the library does not have.

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import * as nip04 from 'nostr-tools/nip04';
import { decrypt, encrypt, getConversationKey } from 'nostr-tools/nip44';
import * as nip49 from 'nostr-tools/nip49';
import { unwrapEvent } from 'nostr-tools/nip59';
import { verifyEvent } from 'nostr-tools/pure';

export const SKIPPED = Symbol('skipped');

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (value) => Buffer.from(value).toString('hex');
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const differs = (found, wanted) => (found === wanted ? undefined : `${found}, not ${wanted}`);

/** Payloads of which every bit is changed are not longer, in characters. */
const SHORT = 300;
/** Wraps of this kind are not the library's. */
const EPHEMERAL = 21059;

export const CHECKS = {
  'nip44.json': message,
  'nip04.json': legacy,
  'gift-wrap.json': giftWrap,
  'encrypted-key.json': encryptedKey,
};

function message(it) {
  const operations = { key: conversationKey, open, seal };
  return Object.hasOwn(operations, it.op) ? operations[it.op](it) : `there is no op ${it.op}`;
}

function conversationKey({ expect, secret, public: other, conversation_key: key }) {
  const derive = () => hex(getConversationKey(bytes(secret), other));
  return expect === 'ok' ? differs(derive(), key) : refused(derive);
}

function open(it) {
  const key = bytes(it.conversation_key);
  if (it.expect !== 'ok') {
    return refused(() => decrypt(it.payload, key));
  }
  const text = plaintext(it);
  if (text === SKIPPED) {
    return SKIPPED;
  }
  const sealed = encrypt(text, key, bytes(it.nonce));
  return samePayload(sealed, it)
    ?? (decrypt(sealed, key) === text ? undefined : 'reads another text')
    ?? (sealed.length > SHORT ? undefined : everyBit(sealed, key));
}

function everyBit(sealed, key) {
  const binary = Buffer.from(sealed, 'base64');
  for (let bit = 0; bit < 8 * binary.length; bit += 1) {
    const changed = Buffer.from(binary);
    changed[bit >> 3] ^= 1 << (bit & 7);
    const problem = refused(() => decrypt(changed.toString('base64'), key));
    if (problem) {
      return `with bit ${bit} changed: ${problem}`;
    }
  }
  return undefined;
}

function seal(it) {
  const text = plaintext(it);
  // It has the extended lengths, and no way to do without them.
  if (text === SKIPPED || (it.expect !== 'ok' && Buffer.byteLength(text) > 65_535)) {
    return SKIPPED;
  }
  const work = () => encrypt(text, bytes(it.conversation_key), bytes(it.nonce));
  return it.expect === 'ok' ? samePayload(work(), it) : refused(work);
}

function samePayload(sealed, { payload, payload_sha256: sum }) {
  return payload === undefined ? differs(sha256(sealed), sum) : differs(sealed, payload);
}

/** The text of a case; it takes only what is UTF-8. */
function plaintext({ plaintext: given, plaintext_byte: byte, plaintext_length: length }) {
  const raw = given === undefined ? Buffer.alloc(length, byte) : bytes(given);
  try {
    // It drops a byte order mark at the beginning.
    const hasMark = raw.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf));
    return hasMark ? SKIPPED : new TextDecoder('utf-8', { fatal: true }).decode(raw);
  } catch {
    return SKIPPED;
  }
}

function legacy({ expect, secret, public: other, content, plaintext: sent }) {
  const work = () => nip04.decrypt(secret, other, content);
  if (expect !== 'ok') {
    return refused(work);
  }
  const text = plaintext({ plaintext: sent });
  return text === SKIPPED ? SKIPPED : differs(hex(work()), hex(text));
}

function giftWrap({ expect, receiver_secret: secret, wrap, author, rumor }) {
  const work = () => {
    const event = JSON.parse(wrap);
    if (!verifyEvent(event)) {
      throw new Error('the wrap does not verify');
    }
    return unwrapEvent(event, bytes(secret));
  };
  if (expect !== 'ok') {
    return isAmbiguous(wrap) ? SKIPPED : refused(work);
  }
  if (JSON.parse(wrap).kind === EPHEMERAL) {
    return SKIPPED;
  }
  const found = work();
  return differs(found.pubkey, author)
    ?? (isDeepStrictEqual(found, JSON.parse(rumor)) ? undefined : 'another rumor');
}

/** True if the event has a name twice, of which JSON.parse would take the last one. */
function isAmbiguous(wrap) {
  const names = wrap.match(/"(?:id|pubkey|created_at|kind|tags|content|sig)":/g) ?? [];
  return names.length > new Set(names).size;
}

function encryptedKey({ expect, password, text, secret }) {
  // It has no limit of the cost, and does not look at the key.
  if (expect === 'cost' || expect === 'key') {
    return SKIPPED;
  }
  const work = () => hex(nip49.decrypt(text, password));
  return expect === 'ok' ? differs(work(), secret) : refused(work);
}

function refused(work) {
  try {
    return `accepts it: ${JSON.stringify(work()).slice(0, 80)}`;
  } catch {
    return undefined;
  }
}
