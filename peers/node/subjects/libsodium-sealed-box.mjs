// libsodium: the content in a secret box under a fresh key, and that key in a sealed box for each
// member, whose Ed25519 public key is converted first, at every message.
//
//     count 4 (little endian) | nonce 24 | 80 a member | secret box (content + 16)
//
// Follows https://doc.libsodium.org/public-key_cryptography/sealed_boxes,
// https://doc.libsodium.org/secret-key_cryptography/secretbox and
// https://doc.libsodium.org/advanced/ed25519-curve25519 (which advises separate keys where one can:
// that is `libsodium-sealed-box-x25519`). A sealed box does not name its recipient. A reader here
// knows the place of its own box, so it opens one and not half of them: the best case.

import sodium from 'sodium-native';
import { versions } from '../packages.mjs';

const KEY = sodium.crypto_secretbox_KEYBYTES;
const NONCE = sodium.crypto_secretbox_NONCEBYTES;
const MAC = sodium.crypto_secretbox_MACBYTES;
const BOX = KEY + sodium.crypto_box_SEALBYTES;
const BOXES = 4 + NONCE;

/** The subject whose members have Ed25519 keys, or X25519 keys from the start. */
export function sealedBox({ subject, about, settings, ed25519 }) {
  return {
    subject,
    about: `${about}; many: one after the other, in the one thread`,
    versions: versions('sodium-native'),
    settings,
    properties: ['confidential', 'authenticated', 'sender-hidden', 'recipients-hidden'],
    setup: (members) => Array.from({ length: members }, () => member(ed25519)),
    seal: (group, content) => seal(group, content, ed25519),
    open,
    tamper,
  };
}

export default sealedBox({
  subject: 'libsodium-sealed-box',
  about: 'a sealed box of the content key a member, from Ed25519 keys; the content in a secret box',
  settings: 'https://doc.libsodium.org/advanced/ed25519-curve25519',
  ed25519: true,
});

/** The key that the sender stores, and the reader's own pair, which is converted once. */
function member(ed25519) {
  const publicKey = Buffer.alloc(sodium.crypto_box_PUBLICKEYBYTES);
  const secretKey = Buffer.alloc(sodium.crypto_box_SECRETKEYBYTES);
  if (!ed25519) {
    sodium.crypto_box_keypair(publicKey, secretKey);
    return { stored: publicKey, publicKey, secretKey };
  }
  const stored = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES);
  const signing = Buffer.alloc(sodium.crypto_sign_SECRETKEYBYTES);
  sodium.crypto_sign_keypair(stored, signing);
  sodium.crypto_sign_ed25519_pk_to_curve25519(publicKey, stored);
  sodium.crypto_sign_ed25519_sk_to_curve25519(secretKey, signing);
  return { stored, publicKey, secretKey };
}

function seal(group, content, ed25519) {
  const boxes = BOXES + BOX * group.length;
  const envelope = Buffer.allocUnsafe(boxes + MAC + content.length);
  const contentKey = Buffer.allocUnsafe(KEY);
  const converted = Buffer.allocUnsafe(sodium.crypto_box_PUBLICKEYBYTES);
  const nonce = envelope.subarray(4, BOXES);
  envelope.writeUInt32LE(group.length, 0);
  sodium.randombytes_buf(nonce);
  sodium.randombytes_buf(contentKey);
  group.forEach(({ stored }, i) => {
    if (ed25519) {
      sodium.crypto_sign_ed25519_pk_to_curve25519(converted, stored);
    }
    const at = BOXES + BOX * i;
    const box = envelope.subarray(at, at + BOX);
    sodium.crypto_box_seal(box, contentKey, ed25519 ? converted : stored);
  });
  sodium.crypto_secretbox_easy(envelope.subarray(boxes), content, nonce, contentKey);
  return envelope;
}

function open(group, index, envelope) {
  const { publicKey, secretKey } = group[index];
  const sealed = envelope.subarray(BOXES + BOX * envelope.readUInt32LE(0));
  const at = BOXES + BOX * index;
  const box = envelope.subarray(at, at + BOX);
  const contentKey = Buffer.allocUnsafe(KEY);
  if (!sodium.crypto_box_seal_open(contentKey, box, publicKey, secretKey)) {
    throw new Error('the sealed box does not open');
  }
  const content = Buffer.allocUnsafe(sealed.length - MAC);
  const nonce = envelope.subarray(4, BOXES);
  if (!sodium.crypto_secretbox_open_easy(content, sealed, nonce, contentKey)) {
    throw new Error('the secret box does not open');
  }
  return content;
}

/** The same envelope with one bit of its sealed content changed. */
function tamper(envelope) {
  const changed = Buffer.from(envelope);
  const content = BOXES + BOX * envelope.readUInt32LE(0) + MAC;
  changed[Math.min(changed.length - 1, (content + changed.length) >> 1)] ^= 1;
  return changed;
}
