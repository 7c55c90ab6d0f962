// The official vectors, as vectors/third-party/nostr has them: every list with what nostr-tools does
// with one of its values. A check throws, or gives what is wrong, or nothing.

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { decrypt, encrypt, getConversationKey, v2 } from 'nostr-tools/nip44';
import * as nip49 from 'nostr-tools/nip49';
import { unwrapEvent } from 'nostr-tools/nip59';
import { getPublicKey, verifyEvent } from 'nostr-tools/pure';

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (value) => Buffer.from(value).toString('hex');
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const differs = (found, wanted) => (found === wanted ? undefined : `${found}, not ${wanted}`);

/** By file, then by the path of the list in it. */
export const CHECKS = {
  'nip44.json': {
    'valid.get_conversation_key': ({ sec1, pub2, conversation_key: key }) =>
      differs(hex(getConversationKey(bytes(sec1), pub2)), key),
    'valid.calc_padded_len': ([length, padded]) => differs(v2.utils.calcPaddedLen(length), padded),
    'valid.encrypt_decrypt'({ sec1, sec2, conversation_key: key, nonce, plaintext, payload }) {
      const sides = [[sec1, sec2], [sec2, sec1]];
      const keys = sides.map(([own, other]) =>
        hex(getConversationKey(bytes(own), getPublicKey(bytes(other)))));
      return differs(keys.join(), [key, key].join())
        ?? differs(encrypt(plaintext, bytes(key), bytes(nonce)), payload)
        ?? differs(decrypt(payload, bytes(key)), plaintext);
    },
    'valid.encrypt_decrypt_long_msg': longMessage,
    'valid.extended': longMessage,
    'invalid.get_conversation_key': ({ sec1, pub2 }) =>
      accepts(() => getConversationKey(bytes(sec1), pub2)),
    'invalid.decrypt': ({ conversation_key: key, payload }) =>
      accepts(() => decrypt(payload, bytes(key))),
  },
  'nip49.json': {
    decrypt: ({ password, encrypted_key: encrypted, secret_key: secret }) =>
      differs(hex(nip49.decrypt(encrypted, password)), secret),
  },
  'nip17.json': {
    gift_wraps({ receiver_secret: secret, wrap, author, rumor }) {
      const event = JSON.parse(wrap);
      if (!verifyEvent(event)) {
        return 'the wrap does not verify';
      }
      const found = unwrapEvent(event, bytes(secret));
      return differs(found.pubkey, author)
        ?? (isDeepStrictEqual(found, JSON.parse(rumor)) ? undefined : 'another rumor');
    },
  },
};

function longMessage({ conversation_key: key, nonce, pattern, repeat, ...sums }) {
  const text = pattern.repeat(repeat);
  const payload = encrypt(text, bytes(key), bytes(nonce));
  return differs(sha256(text), sums.plaintext_sha256)
    ?? differs(sha256(payload), sums.payload_sha256)
    ?? (decrypt(payload, bytes(key)) === text ? undefined : 'does not read what it writes');
}

function accepts(work) {
  try {
    return `accepts it: ${work()}`;
  } catch {
    return undefined;
  }
}
