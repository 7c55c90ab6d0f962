// nostr-tools, its functions that take keys: each message derives its key anew. It is @noble's curve,
// hashes and ciphers in JavaScript.
//
// Follows https://github.com/nbd-wtf/nostr-tools/blob/v2.25.2/README.md. NIP-04 and NIP-44 are its
// modules of that name, with the conversation key derived for each message; AES is called as its
// NIP-04 calls it. It has a client of NIP-46, but no signer: `flow` is put together from its parts.
// It remembers for an event object whether it was verified; here it forgets that each time.

import { cbc } from '@noble/ciphers/aes.js';
import * as nip04 from 'nostr-tools/nip04';
import { decrypt, encrypt, getConversationKey } from 'nostr-tools/nip44';
import { finalizeEvent, getPublicKey, verifiedSymbol, verifyEvent } from 'nostr-tools/pure';
import { versions } from '../packages.mjs';

function verify(event) {
  event[verifiedSymbol] = undefined;
  return verifyEvent(event);
}

/** The signer of NIP-46 made from functions that open, seal, sign and verify. */
export function signer({ nip44, sign, verify: isValid }) {
  return ({ client, signer: own, user }) => {
    const conversation = nip44(own, client);
    return (request) => {
      const event = JSON.parse(request);
      if (event.kind !== 24133 || event.pubkey !== client.public || !isValid(event)) {
        throw new Error('not a request of this client');
      }
      const { id, method, params } = JSON.parse(conversation.open(event.content));
      if (method !== 'sign_event') {
        throw new Error('not a request to sign');
      }
      const { kind, created_at, tags, content } = JSON.parse(params[0]);
      const signed = sign({ kind, created_at, tags, content }, user.secret);
      const response = JSON.stringify({ id, result: JSON.stringify(signed) });
      return JSON.stringify(sign({
        kind: 24133,
        created_at: Math.floor(Date.now() / 1000),
        tags: [['p', event.pubkey]],
        content: conversation.seal(response),
      }, own.secret));
    };
  };
}

const nostr = {
  cached: false,
  cases: [
    'aes_encrypt', 'aes_decrypt', 'nip04_encrypt', 'nip04_decrypt', 'nip44_encrypt', 'nip44_decrypt',
    'conversation_key', 'sign', 'verify', 'flow',
  ],
  publicKey: getPublicKey,
  aes: (key, iv) => ({
    seal: (bytes) => cbc(key, iv).encrypt(bytes),
    open: (bytes) => cbc(key, iv).decrypt(bytes),
  }),
  nip04: (own, other) => ({
    seal: (text) => nip04.encrypt(own.secret, other.public, text),
    open: (payload) => nip04.decrypt(own.secret, other.public, payload),
  }),
  nip44: (own, other) => ({
    seal: (text) => encrypt(text, getConversationKey(own.secret, other.public)),
    open: (payload) => decrypt(payload, getConversationKey(own.secret, other.public)),
  }),
  conversationKey: (own, other) => getConversationKey(own.secret, other.public),
  sealWith: encrypt,
  sign: finalizeEvent,
  verify,
};

export default {
  subject: 'nostr-tools',
  about:
    'nostr-tools, its functions that take keys: each message derives its key anew; curve, hashes and ' +
    'ciphers are @noble, in JavaScript',
  versions: versions('nostr-tools', '@noble/ciphers', '@noble/curves', '@noble/hashes'),
  settings: 'https://github.com/nbd-wtf/nostr-tools/blob/v2.25.2/README.md',
  properties: ['confidential', 'authenticated', 'sender'],
  nostr: { ...nostr, answer: signer(nostr) },
};
