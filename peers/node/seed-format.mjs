// The group message of the published system that station 1 starts from, written from its
// description: a fresh AES-256-GCM content key; one ephemeral X25519 key a message; for each member
// Ed25519 -> X25519, X25519, HKDF-SHA256 and an AES-256-GCM wrap with a random nonce; JSON with
// base64url. Both `seed-` subjects write it, with different cryptography beneath.
//
// The description leaves open, and is assumed here: the names of the fields, the public key itself
// as key id, nonce and wrapped key in one field, no salt, no associated data. With these the sizes
// are those that were measured of the method: 1,487 + 143 * members bytes at 1 KB of content.

import { generateKeyPairSync } from 'node:crypto';

const INFO = Buffer.from('group message key wrap v1');
const NONCE = 12;

/** Makes the keys of a group. `importSecret` turns an Ed25519 seed into what `agree` takes. */
export function setup({ importSecret }, members) {
  return Array.from({ length: members }, () => {
    const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const publicKey = Buffer.from(x, 'base64url');
    return { id: x, publicKey, secret: importSecret(Buffer.from(d, 'base64url')) };
  });
}

/** Seals `content` to all of `group`. The result is the message as it is sent, a string. */
export function seal(crypto, group, content) {
  const contentKey = crypto.random(32);
  const iv = crypto.random(NONCE);
  const ephemeral = crypto.ephemeral();
  const keys = group.map(({ id, publicKey }) => {
    const shared = crypto.agree(ephemeral.secret, crypto.importPublic(crypto.convert(publicKey)));
    const nonce = crypto.random(NONCE);
    const wrapped = crypto.encrypt(crypto.hkdf(shared, INFO), nonce, contentKey);
    return { kid: id, key: Buffer.concat([nonce, wrapped]).toString('base64url') };
  });
  const ct = base64url(crypto.encrypt(contentKey, iv, content));
  return JSON.stringify({ v: 1, epk: base64url(ephemeral.public), keys, iv: base64url(iv), ct });
}

/** Opens `message` as `reader`. Throws if it is not for the reader or was changed. */
export function open(crypto, reader, message) {
  const { v, epk, keys, iv, ct } = JSON.parse(message);
  const entry = v === 1 && keys.find(({ kid }) => kid === reader.id);
  if (!entry) {
    throw new Error('no entry for this reader');
  }
  const shared = crypto.agree(reader.secret, crypto.importPublic(Buffer.from(epk, 'base64url')));
  const wrap = Buffer.from(entry.key, 'base64url');
  const kek = crypto.hkdf(shared, INFO);
  const contentKey = crypto.decrypt(kek, wrap.subarray(0, NONCE), wrap.subarray(NONCE));
  return crypto.decrypt(contentKey, Buffer.from(iv, 'base64url'), Buffer.from(ct, 'base64url'));
}

/** The same message with one bit of its sealed content changed. */
export function tamper(message) {
  const parsed = JSON.parse(message);
  const ct = Buffer.from(parsed.ct, 'base64url');
  ct[ct.length >> 1] ^= 1;
  return JSON.stringify({ ...parsed, ct: ct.toString('base64url') });
}

function base64url(bytes) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}
