// nostr-tools, the fastest that it has: a conversation key is kept, and events are signed and verified
// by nostr-wasm, which is libsecp256k1 in WebAssembly.
//
// Follows https://github.com/nbd-wtf/nostr-tools/blob/v2.25.2/README.md#using-nostr-wasm.

import { initNostrWasm } from 'nostr-wasm';
import { decrypt, encrypt, getConversationKey } from 'nostr-tools/nip44';
import { getPublicKey } from 'nostr-tools/pure';
import { finalizeEvent, setNostrWasm, verifyEvent } from 'nostr-tools/wasm';
import { versions } from '../packages.mjs';
import { signer } from './nostr-tools.mjs';

setNostrWasm(await initNostrWasm());

const nostr = {
  cached: true,
  cases: ['nip44_encrypt', 'nip44_decrypt', 'sign', 'verify', 'flow'],
  publicKey: getPublicKey,
  nip44(own, other) {
    const key = getConversationKey(own.secret, other.public);
    return { seal: (text) => encrypt(text, key), open: (payload) => decrypt(payload, key) };
  },
  conversationKey: (own, other) => getConversationKey(own.secret, other.public),
  sealWith: encrypt,
  sign: finalizeEvent,
  verify: verifyEvent,
};

export default {
  subject: 'nostr-tools-cached',
  about:
    'nostr-tools under a kept conversation key, hashes and ciphers @noble in JavaScript; events are ' +
    'signed and verified by nostr-wasm',
  versions: versions('nostr-tools', 'nostr-wasm', '@noble/ciphers', '@noble/hashes'),
  settings: 'https://github.com/nbd-wtf/nostr-tools/blob/v2.25.2/README.md#using-nostr-wasm',
  properties: ['confidential', 'authenticated', 'sender'],
  nostr: { ...nostr, answer: signer(nostr) },
};
