// The class and the functions of Nostr that the native module has, made from the functions of the
// WebAssembly module.

import { handleOf } from './handle.js';
import { nostr, textsOf, utf8Length } from './memory.js';
import { pause } from './pause.js';
import { stretchInWorker } from './scrypt.js';

const { call, has, start } = nostr;
const Handle = handleOf(call);
const utf8 = new TextDecoder();

const textOf = ({ output }) => {
  const text = utf8.decode(output);
  output.fill(0);
  return text;
};

/** Starts a worker of this runtime; undefined where there are none. */
let startWorker;

class NostrKey extends Handle {
  constructor(number) {
    super('key', number);
  }

  static generate() {
    return new NostrKey(call('key_generate', []).number);
  }

  static async unlock(text, password, maxLogN) {
    const { number: logN, output: salt } = call('key_unlock_input', [maxLogN], text);
    const stretched = await stretchInWorker(startWorker, salt, logN, password);
    try {
      return new NostrKey(call('key_unlock', [utf8Length(text)], text, stretched).number);
    } finally {
      stretched.fill(0);
    }
  }

  async lock(password, logN) {
    // The caller may dispose of the key meanwhile.
    const own = new NostrKey(call('key_share', [this.number]).number);
    try {
      const { output: salt } = call('key_lock_input', [logN]);
      const stretched = await stretchInWorker(startWorker, salt, logN, password);
      try {
        return textOf(call('key_lock', [own.number, logN], salt, stretched));
      } finally {
        stretched.fill(0);
      }
    } finally {
      own.free();
    }
  }

  get public() {
    return textOf(call('key_public', [this.number]));
  }

  /** Calls a function with a public key before its other input. */
  #with(name, peer, args, ...input) {
    return call(name, [this.number, utf8Length(peer), ...args], peer, ...input);
  }

  encrypt(peer, text) {
    return textOf(this.#with('key_encrypt', peer, [], text));
  }

  decrypt(peer, payload) {
    return textOf(this.#with('key_decrypt', peer, [], payload));
  }

  sign(template) {
    return textOf(call('key_sign', [this.number], template));
  }

  receivers(recipients) {
    return textsOf(call('key_receivers', [this.number], recipients.map((it) => `${it}\n`).join('')));
  }

  rumor(template) {
    return textOf(call('key_rumor', [this.number], template));
  }

  async wrap(template, receivers, isEphemeral, expiresAfter, now) {
    const own = new NostrKey(call('key_share', [this.number]).number);
    const wraps = [];
    try {
      for (const receiver of receivers) {
        if (wraps.length > 0) await pause();
        wraps.push(textOf(own.#with('key_wrap', receiver, [isEphemeral, expiresAfter, now], template)));
      }
      return wraps;
    } finally {
      own.free();
    }
  }

  unwrap(event) {
    const { number, output } = call('key_unwrap', [this.number], event);
    const expiration = new DataView(output.buffer).getFloat64(0, true);
    return {
      rumor: textOf({ output: output.subarray(8) }),
      expiration: Number.isNaN(expiration) ? undefined : expiration,
      isEphemeral: number === 1,
    };
  }

  request(signer, request, createdAt) {
    return textOf(this.#with('key_request', signer, [createdAt], request));
  }

  response(signer, event) {
    const [id, kind, text] = textsOf(this.#with('key_response', signer, [], event));
    return { id, kind, text };
  }

  invitation(relays, permissions, name) {
    const lengths = [utf8Length(permissions), name === undefined ? -1 : utf8Length(name)];
    const input = [permissions, name ?? '', relays.map((it) => `${it}\n`).join('')];
    return textsOf(call('key_invitation', [this.number, ...lengths], ...input));
  }

  accepted(event, secret) {
    return textOf(call('key_accepted', [this.number, utf8Length(secret)], secret, event));
  }

  dispose() {
    this.free();
  }
}

function bunker(uri) {
  const [signer, secret, ...relays] = textsOf(call('bunker', [], uri));
  return { signer, secret, relays };
}

/** Functions of the vectors, in a build that is not shipped. */
const ofVectors = () => ({
  keyFromBytes: (bytes) => new NostrKey(call('key_from_bytes', [], bytes).number),
  conversationKey: (...keys) => call('conversation_key', [], ...keys).output,
  conversationSeal: (key, nonce, plaintext, isShort) =>
    textOf(call('conversation_seal', [isShort], key, nonce, plaintext)),
  conversationOpen: (key, payload) => call('conversation_open', [], key, payload).output,
});

/**
 * Returns what the native module has of Nostr, from an instance. `worker` makes a worker of the
 * runtime, which gets the compiled module.
 */
export function moduleOf({ instance, module }, worker) {
  start(instance);
  startWorker = worker && (() => {
    const { post, ...rest } = worker();
    return { ...rest, post: (message) => post({ ...message, module }) };
  });
  return {
    NostrKey,
    publicKey: (text) => textOf(call('public_key', [], text)),
    verify: (event) => {
      call('verify', [], event);
    },
    bunker,
    ...(has('key_from_bytes') ? ofVectors() : {}),
  };
}
