
// The end of `nostr-api.js` in a build for the vectors, whose module makes keys from bytes.
import { attempt, made } from './checks.js';
import { NostrKey as Key } from './nostr-key.js';
import { module } from './nostr-module.js';

Key.fromBytes = (bytes) => made(Key, attempt(() => module.keyFromBytes(bytes)));

export class TestConversation {
  constructor(key) {
    this.key = key;
  }

  static key(secret, key) {
    return attempt(() => module.conversationKey(secret, key));
  }

  seal(plaintext, nonce, isShort) {
    return attempt(() => module.conversationSeal(this.key, nonce, plaintext, isShort));
  }

  open(payload) {
    return attempt(() => module.conversationOpen(this.key, payload));
  }
}
