// The seed's method with Node's own cryptography (OpenSSL). Only the conversion of Ed25519 keys,
// which OpenSSL does not have, is @noble's.
//
// Follows https://nodejs.org/docs/latest-v20.x/api/crypto.html: one-shot `diffieHellman` and
// `hkdfSync` on key objects, `createCipheriv` with 12-byte nonces. Node 20 imports raw X25519 keys
// only through DER, so the fixed prefixes of RFC 8410 are set before them.

import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { edwardsToMontgomeryPriv, edwardsToMontgomeryPub } from '@noble/curves/ed25519';
import { versions } from '../packages.mjs';
import * as format from '../seed-format.mjs';

const SPKI = Buffer.from('302a300506032b656e032100', 'hex');
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const CIPHER = 'aes-256-gcm';
const TAG = 16;

const crypto = {
  random: randomBytes,
  convert: edwardsToMontgomeryPub,
  importPublic: (bytes) =>
    createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' }),
  importSecret(seed) {
    const key = Buffer.concat([PKCS8, edwardsToMontgomeryPriv(seed)]);
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  },
  ephemeral() {
    const { privateKey, publicKey } = generateKeyPairSync('x25519');
    const der = publicKey.export({ format: 'der', type: 'spki' });
    return { secret: privateKey, public: der.subarray(SPKI.length) };
  },
  agree: (privateKey, publicKey) => diffieHellman({ privateKey, publicKey }),
  hkdf: (shared, info) => new Uint8Array(hkdfSync('sha256', shared, '', info, 32)),
  encrypt(key, nonce, content) {
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG });
    return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  },
  decrypt(key, nonce, sealed) {
    const end = sealed.length - TAG;
    const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG });
    cipher.setAuthTag(sealed.subarray(end));
    return Buffer.concat([cipher.update(sealed.subarray(0, end)), cipher.final()]);
  },
};

const converted = new WeakMap();

/**
 * Seals what `open` is given, outside the clock: the same format, but each key is converted only
 * once for all inputs.
 */
export function sealInput(group, content) {
  const convert = (publicKey) => {
    if (!converted.has(publicKey)) {
      converted.set(publicKey, crypto.convert(publicKey));
    }
    return converted.get(publicKey);
  };
  return format.seal({ ...crypto, convert }, group, content);
}

export default {
  subject: 'seed-native',
  about: "the seed's method and format on node:crypto, @noble only to convert the keys",
  versions: { openssl: process.versions.openssl, ...versions('@noble/curves') },
  settings: 'https://nodejs.org/docs/latest-v20.x/api/crypto.html',
  properties: ['confidential', 'authenticated'],

  setup: (members) => format.setup(crypto, members),
  seal: (group, content) => format.seal(crypto, group, content),
  open: (group, index, message) => format.open(crypto, group[index], message),
  tamper: format.tamper,
  sealInput,
};
