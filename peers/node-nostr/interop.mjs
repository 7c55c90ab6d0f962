// Encryption and events of nostr-tools for tests of other implementations: one request in JSON a line,
// one answer. ../rust-nostr/README.md describes it. Keys are in hexadecimal, events are the text of
// their JSON.

import { readFileSync } from 'node:fs';

import * as nip04 from 'nostr-tools/nip04';
import { decrypt, encrypt, getConversationKey } from 'nostr-tools/nip44';
import { unwrapEvent, wrapEvent } from 'nostr-tools/nip59';
import { finalizeEvent, getPublicKey, verifyEvent } from 'nostr-tools/pure';

import { lines } from '../node/lines.mjs';

const manifest = new URL('node_modules/nostr-tools/package.json', import.meta.url);

/** A request that is not understood. */
class Misunderstood extends Error {}

/** Longest text that it encrypts, in bytes. */
const LONGEST = 2 ** 32 - 1;

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const key = (secret, other) => getConversationKey(bytes(secret), other);

const operations = {
  describe: () => ({
    library: 'nostr-tools',
    version: JSON.parse(readFileSync(manifest, 'utf8')).version,
    longest: LONGEST,
    nonce: true,
  }),
  public_key: ({ secret }) => ({ public: getPublicKey(bytes(secret)) }),
  conversation_key: ({ secret, public: other }) => ({
    key: Buffer.from(key(secret, other)).toString('hex'),
  }),
  encrypt: ({ secret, public: other, text, nonce }) => ({
    payload: encrypt(text, key(secret, other), nonce === undefined ? undefined : bytes(nonce)),
  }),
  decrypt: ({ secret, public: other, payload }) => ({ text: decrypt(payload, key(secret, other)) }),
  nip04_encrypt: ({ secret, public: other, text }) => ({ payload: nip04.encrypt(secret, other, text) }),
  nip04_decrypt: ({ secret, public: other, payload }) => ({
    text: nip04.decrypt(secret, other, payload),
  }),
  sign: ({ secret, event }) => ({
    event: JSON.stringify(finalizeEvent(JSON.parse(event), bytes(secret))),
  }),
  verify: ({ event }) => ({ valid: verifyEvent(JSON.parse(event)) }),
  wrap: ({ secret, public: other, event }) => ({
    event: JSON.stringify(wrapEvent(JSON.parse(event), bytes(secret), other)),
  }),
  // The library leaves verifying the wrap's own signature to its caller.
  unwrap({ secret, event }) {
    const wrap = JSON.parse(event);
    if (!verifyEvent(wrap)) {
      throw new Error('the signature of the wrap is not valid');
    }
    const rumor = unwrapEvent(wrap, bytes(secret));
    return { sender: rumor.pubkey, rumor: JSON.stringify(rumor) };
  },
};

/** Fields that each request needs; all are strings. */
const NEEDS = {
  describe: [],
  public_key: ['secret'],
  conversation_key: ['secret', 'public'],
  encrypt: ['secret', 'public', 'text'],
  decrypt: ['secret', 'public', 'payload'],
  nip04_encrypt: ['secret', 'public', 'text'],
  nip04_decrypt: ['secret', 'public', 'payload'],
  sign: ['secret', 'event'],
  verify: ['event'],
  wrap: ['secret', 'public', 'event'],
  unwrap: ['secret', 'event'],
};

function answer(line) {
  try {
    const request = parse(line);
    return { ok: true, ...operations[request.op](request) };
  } catch (error) {
    const message = String(error?.message ?? error).replace(/\s+/g, ' ').slice(0, 200);
    return { ok: false, error: error instanceof Misunderstood ? 'protocol' : 'failed', message };
  }
}

/** A request that has what it needs. */
function parse(line) {
  let request;
  try {
    request = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line ?? Buffer.of(0xff)));
  } catch {
    throw new Misunderstood('the line is not JSON, or longer than 1 MiB');
  }
  if (!Object.hasOwn(NEEDS, request?.op)) {
    throw new Misunderstood('there is no such op');
  }
  if (!NEEDS[request.op].every((name) => typeof request[name] === 'string')) {
    throw new Misunderstood(`${request.op} needs ${NEEDS[request.op].join(', ')}`);
  }
  return request;
}

process.stdout.on('error', () => process.exit(1));
for await (const line of lines(process.stdin)) {
  process.stdout.write(`${JSON.stringify(answer(line))}\n`);
}
