// Nostr: keys, encrypted texts, private messages, remote signers. `nostr.d.ts` has the documentation.

export { EndsealError } from './error.js';
export { NostrKey, publicKey, verifyEvent } from './nostr-key.js';
export { RemoteSigner } from './remote-signer.js';
