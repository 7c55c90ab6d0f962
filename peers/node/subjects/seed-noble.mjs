// The published method on what its client uses: @noble/curves in the version of its lock file, the
// AES-GCM of the runtime's Web Cryptography (a key is imported for each call), and base64url by way
// of `btoa`, byte by byte.
//
// Follows https://github.com/aaronp/merits/blob/b78bc5b0345d7aa99c51e71f110b4b6947a45674/
// cli/lib/crypto-group.ts; @noble/curves 2.4.0 was tried and is slower at X25519.

import { ed25519, x25519 } from '@noble/curves/ed25519.js';
import { versions } from '../packages.mjs';
import * as format from '../seed-format.mjs';
import { sealInput } from './seed-native.mjs';

const { subtle } = globalThis.crypto;
const TAG_BITS = 128;

const crypto = {
  random: (bytes) => globalThis.crypto.getRandomValues(new Uint8Array(bytes)),
  convertPublic: (key) => ed25519.utils.toMontgomery(key),
  convertSecret: (seed) => ed25519.utils.toMontgomerySecret(seed),
  agree: (secret, publicKey) => x25519.getSharedSecret(secret, publicKey),

  async encrypt(key, iv, plaintext, context) {
    const imported = await subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt']);
    return new Uint8Array(await subtle.encrypt(gcm(iv, context), imported, plaintext));
  },
  async decrypt(key, iv, sealed, context) {
    const imported = await subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']);
    return new Uint8Array(await subtle.decrypt(gcm(iv, context), imported, sealed));
  },

  encode(bytes) {
    let characters = '';
    for (const byte of bytes) {
      characters += String.fromCharCode(byte);
    }
    const base64 = btoa(characters);
    return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  },
  decode(text) {
    const characters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i += 1) {
      bytes[i] = characters.charCodeAt(i);
    }
    return bytes;
  },
};

function gcm(iv, additionalData) {
  const parameters = { name: 'AES-GCM', iv, tagLength: TAG_BITS };
  return additionalData ? { ...parameters, additionalData } : parameters;
}

export default {
  subject: 'seed-noble',
  about:
    "the published method, from its source: static X25519 keys and an AES-GCM wrap a member; " +
    '@noble/curves and Web Cryptography; an object, its JSON not timed; many: Promise.all',
  versions: versions('@noble/curves'),
  settings:
    'https://github.com/aaronp/merits/blob/b78bc5b0345d7aa99c51e71f110b4b6947a45674/' +
    'cli/lib/crypto-group.ts',
  ...format.methods(crypto),
  sealInput,
  // Strings that grow byte by byte: 16 MB take seconds and half a gigabyte.
  limits: { bytes: 1 << 20 },
};
