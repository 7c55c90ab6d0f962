// The published method as fast as the runtime can do it: X25519 and AES-GCM of node:crypto (OpenSSL) and
// base64url of Buffer. Only the conversion of Ed25519 keys, which OpenSSL does not have, is
// @noble's.
//
// Follows https://nodejs.org/docs/latest-v20.x/api/crypto.html: one-shot `diffieHellman` on key
// objects, `createCipheriv` with 12-byte nonces. Node 20 imports raw X25519 keys only through DER,
// so the fixed prefixes of RFC 8410 are set before them.

import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  randomBytes,
} from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { versions } from '../packages.mjs';
import * as format from '../seed-format.mjs';

/** The library behind node:crypto: Bun has BoringSSL. */
const { boringssl, openssl } = process.versions;
const CRYPTO = process.versions.bun ? { boringssl } : { openssl };
const SPKI = Buffer.from('302a300506032b656e032100', 'hex');
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const CIPHER = 'aes-256-gcm';
const TAG = 16;

const crypto = {
  random: randomBytes,
  convertPublic(bytes) {
    const key = Buffer.concat([SPKI, ed25519.utils.toMontgomery(bytes)]);
    return createPublicKey({ key, format: 'der', type: 'spki' });
  },
  convertSecret(seed) {
    const key = Buffer.concat([PKCS8, ed25519.utils.toMontgomerySecret(seed)]);
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  },
  agree: (privateKey, publicKey) => diffieHellman({ privateKey, publicKey }),

  encrypt(key, nonce, plaintext, context) {
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG });
    if (context) {
      cipher.setAAD(context);
    }
    return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  },
  decrypt(key, nonce, sealed, context) {
    const end = sealed.length - TAG;
    const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG });
    if (context) {
      cipher.setAAD(context);
    }
    cipher.setAuthTag(sealed.subarray(end));
    return Buffer.concat([cipher.update(sealed.subarray(0, end)), cipher.final()]);
  },

  encode: ({ buffer, byteOffset, length }) =>
    Buffer.from(buffer, byteOffset, length).toString('base64url'),
  decode: (text) => Buffer.from(text, 'base64url'),
};

/**
 * Seals what `open` is given, outside the clock: the same format, but what the sender shares with
 * each member is computed only once for all inputs.
 */
export function sealInput(group, text) {
  group.known ??= new Map();
  const remembered = (_crypto, secret, publicKey) => {
    if (!group.known.has(publicKey)) {
      group.known.set(publicKey, format.share(crypto, secret, publicKey));
    }
    return group.known.get(publicKey);
  };
  return format.seal(crypto, group, text, remembered);
}

export default {
  subject: 'seed-native',
  about:
    "the published method on node:crypto, @noble/curves only to convert keys; an object, its JSON " +
    'not timed; many: one after the other, since node:crypto works in its one thread',
  versions: { ...CRYPTO, ...versions('@noble/curves') },
  settings: 'https://nodejs.org/docs/latest-v20.x/api/crypto.html',
  ...format.methods(crypto),
  sealInput,
};
