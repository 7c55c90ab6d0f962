// The seed's method on @noble alone, as its TypeScript client does it.
//
// Follows https://github.com/paulmillr/noble-curves/tree/1.9.7#ed25519-x25519-ristretto255 for the
// conversion of keys and https://github.com/paulmillr/noble-ciphers/tree/1.3.0#usage for AES-GCM.
// Base64url and JSON are Node's own, and a reader's secret key is converted once, outside the
// clock: both favour the method.

import { gcm } from '@noble/ciphers/aes';
import { edwardsToMontgomeryPriv, edwardsToMontgomeryPub, x25519 } from '@noble/curves/ed25519';
import { hkdf } from '@noble/hashes/hkdf';
import { sha256 } from '@noble/hashes/sha2';
import { randomBytes } from '@noble/hashes/utils';
import { versions } from '../packages.mjs';
import * as format from '../seed-format.mjs';
import { sealInput } from './seed-native.mjs';

const crypto = {
  random: randomBytes,
  convert: edwardsToMontgomeryPub,
  importPublic: (bytes) => bytes,
  importSecret: edwardsToMontgomeryPriv,
  ephemeral() {
    const secret = x25519.utils.randomSecretKey();
    return { secret, public: x25519.getPublicKey(secret) };
  },
  agree: (secret, publicKey) => x25519.getSharedSecret(secret, publicKey),
  hkdf: (shared, info) => hkdf(sha256, shared, undefined, info, 32),
  encrypt: (key, nonce, content) => gcm(key, nonce).encrypt(content),
  decrypt: (key, nonce, sealed) => gcm(key, nonce).decrypt(sealed),
};

export default {
  subject: 'seed-noble',
  about: "the seed's method: ephemeral X25519, HKDF and AES-GCM wrap a member, JSON; all @noble",
  versions: versions('@noble/curves', '@noble/ciphers', '@noble/hashes'),
  settings: 'https://github.com/paulmillr/noble-curves/tree/1.9.7#ed25519-x25519-ristretto255',
  properties: ['confidential', 'authenticated'],

  setup: (members) => format.setup(crypto, members),
  seal: (group, content) => format.seal(crypto, group, content),
  open: (group, index, message) => format.open(crypto, group[index], message),
  tamper: format.tamper,
  sealInput,
};
