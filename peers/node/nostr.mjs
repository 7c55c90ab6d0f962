// The suite `nostr`, made from what a subject can do. A subject has `nostr`, an object with:
//
//     cached                                   whether it keeps conversation keys
//     cases                                    those that it has
//     publicKey(secret) -> public
//     aes(key, iv) -> {seal, open}             bytes to bytes
//     nip04(own, other) -> {seal, open}        text to text
//     nip44(own, other) -> {seal, open}        text to text
//     conversationKey(own, other) -> key
//     sealWith(text, key, nonce) -> payload    NIP-44 with a given nonce
//     sign(draft, secret) -> event             with `pubkey`, `id` and `sig`
//     verify(event) -> boolean                 anew for the same object
//     answer(roles) -> (request) -> response   NIP-46, from JSON to JSON
//
// A key pair is `{secret, public}`: bytes and a hexadecimal string, as nostr-tools has them.

import { createHash, randomBytes } from 'node:crypto';
import { Unsupported } from './parameters.mjs';

/** Longest text, in bytes. */
const LONGEST = 1 << 20;
/** The same of `flow`: encoded as JSON twice, it stays below 65,536 bytes, so that all peers take it. */
const LONGEST_CONTENT = 60_000;
/** Length of the content that `sign` and `verify` have without the parameter. */
const USUAL_CONTENT = 100;
/** Total length of all texts of a case. */
const TEXT_LIMIT = 1 << 28;

const BYTES = { bytes: [1, LONGEST] };
const CACHED = { ...BYTES, cached: [0, 1] };
const CONTENT = { bytes: [0, LONGEST] };

const CASES = {
  aes_encrypt: { limits: BYTES, make: (...given) => bareCipher(...given, sealing) },
  aes_decrypt: { limits: BYTES, make: (...given) => bareCipher(...given, opening) },
  nip04_encrypt: { limits: BYTES, make: (...given) => legacy(...given, sealing) },
  nip04_decrypt: { limits: BYTES, make: (...given) => legacy(...given, opening) },
  nip44_encrypt: { limits: CACHED, make: (...given) => message(...given, sealing) },
  nip44_decrypt: { limits: CACHED, make: (...given) => message(...given, opening) },
  conversation_key: { limits: {}, make: conversationKey },
  sign: { limits: CONTENT, optional: true, make: signing },
  verify: { limits: CONTENT, optional: true, make: verifying },
  flow: { limits: { bytes: [0, LONGEST_CONTENT] }, make: flow },
};

/** Makes keys and inputs of a case: `step(n)` is the work of one iteration, `check()` proves it. */
export function prepare({ nostr }, name, params, inputs) {
  const found = Object.hasOwn(CASES, name) ? CASES[name] : null;
  if (!found || !nostr.cases.includes(name)) {
    throw new Unsupported(`there is no case ${name}`);
  }
  const absent = found.optional && Object.keys(params).length === 0;
  limited(params, absent ? {} : found.limits);
  if (params.cached !== undefined && (params.cached === 1) !== nostr.cached) {
    throw new Unsupported(`cached is not ${params.cached} in this subject`);
  }
  const bytes = params.bytes ?? USUAL_CONTENT;
  if (inputs < 1 || inputs * Math.max(bytes, 1024) > TEXT_LIMIT) {
    throw new Unsupported('inputs: at least 1, and 256 MiB of text at most');
  }
  const texts = Array.from({ length: inputs }, () => someText(bytes));
  const job = found.make(nostr, texts);
  return { step: (n) => job.step(n % inputs), check: job.check };
}

function limited(params, limits) {
  for (const name of Object.keys(params)) {
    if (!Object.hasOwn(limits, name)) {
      throw new Unsupported(`this case has no parameter ${name}`);
    }
  }
  for (const [name, [least, most]] of Object.entries(limits)) {
    if (!(params[name] >= least && params[name] <= most)) {
      throw new Unsupported(`${name} must be from ${least} to ${most}`);
    }
  }
}

/** Random text of letters, digits, blanks and full stops. */
function someText(bytes) {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .';
  return Array.from(randomBytes(bytes), (byte) => alphabet[byte % 64]).join('');
}

/** The job that seals each of `plain`, or opens each when it is sealed. */
const sealing = (plain, own, other, proof) => ({
  step: (n) => own.seal(plain[n]),
  check: () => proof(plain[0], own.seal(plain[0]), other.open),
});
const opening = (plain, own, other, proof) => {
  const sealed = plain.map((text) => other.seal(text));
  return {
    step: (n) => own.open(sealed[n]),
    check: () => proof(plain[0], sealed[0], own.open),
  };
};

/** CBC-AES256 of NIST SP 800-38A, F.2.5, the first block. */
const AES = {
  key: Buffer.from('603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4', 'hex'),
  iv: Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex'),
  plain: Buffer.from('6bc1bee22e409f96e93d7e117393172a', 'hex'),
  sealed: Buffer.from('f58c4c04d6e5f1ba779eabfb5f7bfbd6', 'hex'),
};

function bareCipher(nostr, texts, direction) {
  const cipher = nostr.aes(Uint8Array.from(randomBytes(32)), Uint8Array.from(randomBytes(16)));
  const plain = texts.map((text) => new TextEncoder().encode(text));
  return direction(plain, cipher, cipher, (sent, sealed, open) => {
    const known = nostr.aes(Uint8Array.from(AES.key), Uint8Array.from(AES.iv));
    const first = known.seal(Uint8Array.from(AES.plain)).subarray(0, AES.sealed.length);
    return {
      round_trip: AES.sealed.equals(first) && Buffer.from(open(sealed)).equals(sent),
      tamper_refused: null,
      sealed_bytes: sealed.length,
    };
  });
}

/** A message that go-nostr wrote, from the tests of nostr-tools. */
const LEGACY = {
  sender: '91ba716fa9e7ea2fcbad360cf4f8e0d312f73984da63d90f524ad61a6a1e7dbe',
  receiver: '96f6fa197aa07477ab88f6981118466ae3a982faab8ad5db9d5426870c73d220',
  payload: 'zJxfaJ32rN5Dg1ODjOlEew==?iv=EV5bUjcc4OX2Km/zPp4ndQ==',
  text: 'nanana',
};

function legacy(nostr, texts, direction) {
  const [own, other] = [keyPair(nostr), keyPair(nostr)];
  const sides = [nostr.nip04(own, other), nostr.nip04(other, own)];
  return direction(texts, ...sides, (sent, sealed, open) => {
    const [receiver, sender] = [LEGACY.receiver, LEGACY.sender].map((it) => keyPair(nostr, it));
    const known = nostr.nip04(receiver, sender).open(LEGACY.payload);
    return {
      round_trip: known === LEGACY.text && open(sealed) === sent,
      tamper_refused: null,
      sealed_bytes: sealed.length,
    };
  });
}

/** The first vector of NIP-44: secret keys, conversation key, and a text under the nonce 1. */
const MESSAGE = {
  secrets: ['1'.padStart(64, '0'), '2'.padStart(64, '0')],
  key: 'c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d',
  text: 'a',
  payload:
    'AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlC' +
    'WZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb',
};

function knownKey(nostr) {
  return nostr.conversationKey(...MESSAGE.secrets.map((secret) => keyPair(nostr, secret)));
}

function message(nostr, texts, direction) {
  const [own, other] = [keyPair(nostr), keyPair(nostr)];
  const sides = [nostr.nip44(own, other), nostr.nip44(other, own)];
  return direction(texts, ...sides, (sent, sealed, open) => {
    const nonce = Uint8Array.from({ length: 32 }, (_, at) => (at === 31 ? 1 : 0));
    const known = nostr.sealWith(MESSAGE.text, knownKey(nostr), nonce);
    return {
      round_trip: known === MESSAGE.payload && open(sealed) === sent,
      tamper_refused: refuses(() => open(changed(sealed))),
      sealed_bytes: sealed.length,
    };
  });
}

function conversationKey(nostr, texts) {
  const pairs = texts.map(() => [keyPair(nostr), keyPair(nostr)]);
  const derive = ([own, other]) => Buffer.from(nostr.conversationKey(own, other)).toString('hex');
  return {
    step: (n) => nostr.conversationKey(...pairs[n]),
    check() {
      const same = derive(pairs[0]) === derive(pairs[0].toReversed());
      const known = Buffer.from(knownKey(nostr)).toString('hex') === MESSAGE.key;
      return { round_trip: same && known, tamper_refused: null, sealed_bytes: null };
    },
  };
}

function signing(nostr, texts) {
  const { secret } = keyPair(nostr);
  const drafts = texts.map(draft);
  const sign = (n) => nostr.sign({ ...drafts[n] }, secret);
  return { step: sign, check: () => eventProof(nostr, sign(0), texts[0]) };
}

function verifying(nostr, texts) {
  const { secret } = keyPair(nostr);
  // Read from JSON, because the library marks the events that it has signed.
  const events = texts.map((text) => copy(nostr.sign(draft(text), secret)));
  return {
    step(n) {
      if (!nostr.verify(events[n])) {
        throw new Error('the event was refused');
      }
      return true;
    },
    check: () => eventProof(nostr, events[0], texts[0]),
  };
}

function draft(content) {
  return { kind: 1, created_at: now(), tags: [], content };
}

function eventProof(nostr, event, content) {
  const id = createHash('sha256').update(JSON.stringify(
    [0, event.pubkey, event.created_at, event.kind, event.tags, event.content],
  )).digest('hex');
  const changes = [
    { content: `${event.content}.` }, { created_at: event.created_at + 1 },
    { pubkey: keyPair(nostr).public },
    { sig: event.sig.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) },
  ];
  return {
    round_trip: event.content === content && event.id === id && nostr.verify(copy(event)),
    tamper_refused: changes.every((change) => !nostr.verify({ ...copy(event), ...change })),
    sealed_bytes: JSON.stringify(event).length,
  };
}

function flow(nostr, texts) {
  const roles = { client: keyPair(nostr), signer: keyPair(nostr), user: keyPair(nostr) };
  const requests = texts.map((content) => request(nostr, roles, content));
  const answer = nostr.answer(roles);
  return {
    step: (n) => answer(requests[n]),
    check() {
      const response = answer(requests[0]);
      const event = accepted(nostr, roles, response);
      return {
        round_trip: event.content === texts[0] && event.pubkey === roles.user.public,
        tamper_refused: refuses(() => answer(changed(requests[0]))),
        sealed_bytes: response.length,
      };
    },
  };
}

/** A request to sign an event, as the client sends it. */
function request(nostr, { client, signer, user }, content) {
  const event = JSON.stringify({ pubkey: user.public, ...draft(content) });
  const text = JSON.stringify({ id: '1', method: 'sign_event', params: [event] });
  return JSON.stringify(sent(nostr, client, signer, text));
}

/** An encrypted message of NIP-46 as an event. */
function sent(nostr, from, to, text) {
  const content = nostr.nip44(from, to).seal(text);
  const event = { kind: 24133, created_at: now(), tags: [['p', to.public]], content };
  return nostr.sign(event, from.secret);
}

/** The event that the client finds in a response. */
function accepted(nostr, { client, signer }, response) {
  const event = JSON.parse(response);
  const isOurs = event.pubkey === signer.public && event.kind === 24133
    && event.tags.some(([name, value]) => name === 'p' && value === client.public);
  if (!isOurs || !nostr.verify(event)) {
    throw new Error('not a response of this signer to this client');
  }
  const { result } = JSON.parse(nostr.nip44(client, signer).open(event.content));
  const signed = JSON.parse(result);
  if (!nostr.verify(signed)) {
    throw new Error('the event in the response was refused');
  }
  return signed;
}

function keyPair(nostr, hex) {
  const secret = Uint8Array.from(hex ? Buffer.from(hex, 'hex') : randomBytes(32));
  return { secret, public: nostr.publicKey(secret) };
}

function now() {
  return Math.floor(Date.now() / 1000);
}

function copy(event) {
  return JSON.parse(JSON.stringify(event));
}

/** A payload or event with another character in its middle. */
function changed(sealed) {
  const middle = sealed.length >> 1;
  const other = sealed[middle] === 'A' ? 'B' : 'A';
  return sealed.slice(0, middle) + other + sealed.slice(middle + 1);
}

function refuses(work) {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}
