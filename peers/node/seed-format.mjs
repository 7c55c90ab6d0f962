// The group message of the published system that station 1 starts from: `encryptForGroup` and
// `decryptGroupMessage` of https://github.com/aaronp/merits at commit b78bc5b, whose test program
// its figures come from, written anew. All `seed-` subjects have it, with different cryptography
// beneath.
//
// A message: a fresh AES-256-GCM key for the content, with "<group>:<sender>" as associated data.
// The sender's Ed25519 seed becomes an X25519 key once a message. For each member: its public key
// is decoded from base64url and converted; X25519 of the two static keys; the shared secret,
// without any derivation, is the AES-256-GCM key that wraps the content key under a random nonce.
// There is no ephemeral key, no HKDF (comments promise it, and it is imported but not called)
// and no signature. A reader converts its own key and the sender's at each message.
//
// What is sealed is text, and the result is an object: its JSON, which the client sends, is not in
// the published times and not in these (`seed-noble-json` has it), but `size` is its length.
// Members are named as its client does, "D" and the key in base64url, and a group by 32
// characters.

import { generateKeyPairSync, randomBytes } from 'node:crypto';

const GROUP = 'k57a2ffm4y9qj1r8c6tbn0xw3e5hvsdz';
const KEY = 32;
const NONCE = 12;

/** Makes the keys of a group, whose first member sends. */
export function setup(members) {
  const readers = Array.from({ length: members }, () => {
    const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    return { aid: `D${x}`, publicKey: x, seed: new Uint8Array(Buffer.from(d, 'base64url')) };
  });
  const publicKeys = Object.fromEntries(readers.map(({ aid, publicKey }) => [aid, publicKey]));
  return { readers, publicKeys, sender: readers[0] };
}

/** Random text of that many bytes in UTF-8. */
export function content(bytes) {
  return randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64').slice(0, bytes);
}

/** The secret that two members share. */
export function share(crypto, secret, publicKey) {
  return crypto.agree(secret, crypto.convertPublic(crypto.decode(publicKey)));
}

/** Seals `text` to all of `group`. `shared` is `share`, or faster where it is not measured. */
export async function seal(crypto, { publicKeys, sender }, text, shared = share) {
  const contentKey = crypto.random(KEY);
  const context = new TextEncoder().encode(`${GROUP}:${sender.aid}`);
  const sealed = await encrypt(crypto, contentKey, new TextEncoder().encode(text), context);
  const secret = crypto.convertSecret(sender.seed);
  const encryptedKeys = {};
  for (const [aid, publicKey] of Object.entries(publicKeys)) {
    const wrapped = await encrypt(crypto, shared(crypto, secret, publicKey), contentKey);
    encryptedKeys[aid] = { encryptedKey: wrapped.text, nonce: wrapped.nonce };
  }
  contentKey.fill(0);
  return {
    encryptedContent: sealed.text,
    nonce: sealed.nonce,
    encryptedKeys,
    senderAid: sender.aid,
    groupId: GROUP,
    aad: crypto.encode(context),
  };
}

/** Opens `message` as `reader`. Throws if it is not for the reader or was changed. */
export async function open(crypto, { sender }, reader, message) {
  const own = message.encryptedKeys[reader.aid];
  if (!own) {
    throw new Error('no entry for this reader');
  }
  const { decode, decrypt } = crypto;
  const shared = share(crypto, crypto.convertSecret(reader.seed), sender.publicKey);
  const contentKey = await decrypt(shared, decode(own.nonce), decode(own.encryptedKey));
  const sealed = decode(message.encryptedContent);
  const opened = await decrypt(contentKey, decode(message.nonce), sealed, decode(message.aad));
  contentKey.fill(0);
  shared.fill(0);
  return new TextDecoder().decode(opened);
}

/** The same message with one bit of its sealed content changed. */
export function tamper(message) {
  const sealed = Buffer.from(message.encryptedContent, 'base64url');
  sealed[sealed.length >> 1] ^= 1;
  return { ...message, encryptedContent: sealed.toString('base64url') };
}

/**
 * What each step of sealing and opening took in nanoseconds, and both without clocks between steps.
 * Steps are the calls of `crypto`; the rest of a total is what lies between them.
 */
export async function steps(crypto, group, index, text) {
  const reader = group.readers[index];
  const found = {};
  const add = (name, start) => {
    found[name] = (found[name] ?? 0) + Number(process.hrtime.bigint() - start);
  };
  const timed = (name, work) => (...given) => {
    const start = process.hrtime.bigint();
    const result = work(...given);
    if (result instanceof Promise) {
      return result.finally(() => add(name(...given), start));
    }
    add(name(...given), start);
    return result;
  };
  const whole = async (name, work) => {
    const start = process.hrtime.bigint();
    const result = await work();
    add(name, start);
    return result;
  };
  const watched = (direction) => {
    const named = (step) => () => `${direction}_${step}`;
    // The content alone has associated data.
    const cipher = (_key, _nonce, _bytes, context) =>
      `${direction}_${context ? 'content' : 'wrap'}`;
    return {
      ...crypto,
      convertPublic: timed(named('conversion'), crypto.convertPublic),
      convertSecret: timed(named('conversion'), crypto.convertSecret),
      agree: timed(named('agreement'), crypto.agree),
      encrypt: timed(cipher, crypto.encrypt),
      decrypt: timed(cipher, crypto.decrypt),
      encode: timed(named('encoding'), crypto.encode),
      decode: timed(named('encoding'), crypto.decode),
    };
  };
  const message = await whole('seal_total', () => seal(crypto, group, text));
  await seal(watched('seal'), group, text);
  await whole('open_total', () => open(crypto, group, reader, message));
  await open(watched('open'), group, reader, message);
  return found;
}

/** The length of `message` as it is sent. */
export function size(message) {
  return Buffer.byteLength(JSON.stringify(message));
}

/**
 * What all subjects have in common that do this with `crypto`. The sender is known to every reader,
 * by a secret that outsiders do not have; but a reader who knows the content key can put another
 * content under the same wraps.
 */
export function methods(crypto) {
  return {
    properties: ['confidential', 'authenticated', 'sender'],
    content,
    setup,
    seal: (group, text) => seal(crypto, group, text),
    open: (group, index, message) => open(crypto, group, group.readers[index], message),
    tamper,
    size,
    steps: (group, index, text) => steps(crypto, group, index, text),
  };
}

async function encrypt(crypto, key, plaintext, context) {
  const nonce = crypto.random(NONCE);
  const sealed = await crypto.encrypt(key, nonce, plaintext, context);
  return { text: crypto.encode(sealed), nonce: crypto.encode(nonce) };
}
