// Sessions of docs/spec/nostr-connect.md, written from the document: from an event to the plaintext of its
// answer, step by step, with the cryptography of nostr-tools. The answer of the vectors is then opened.

import { createHash, createHmac } from 'node:crypto';

import { schnorr } from '@noble/curves/secp256k1.js';
import * as nip04 from 'nostr-tools/nip04';
import * as nip44 from 'nostr-tools/nip44';
import { getEventHash, getPublicKey, verifyEvent } from 'nostr-tools/pure';

import { Refused, decide, judged, readRule, scopeOf, sha256, siteOf } from './policy.mjs';

const KIND = 24133;
const MAX_EVENT = 512 * 1024;
const MAX_SKEW = 300;
const METHODS = [
  'connect', 'sign_event', 'ping', 'get_public_key', 'nip04_encrypt', 'nip04_decrypt',
  'nip44_encrypt', 'nip44_decrypt', 'switch_relays', 'logout',
];
const TEXTS = {
  'nip04-transport': 'NIP-04 is not accepted here: encrypt requests with NIP-44',
  stale: 'the request is older or newer than five minutes',
  expired: 'this connection has expired',
  revoked: 'this connection was revoked',
  locked: 'the signer is locked',
  method: 'the method is not supported',
  secret: 'the connection secret is wrong',
  denied: 'not allowed',
  limit: 'not allowed: the limit is reached',
};

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (value) => Buffer.from(value).toString('hex');
const differs = (found, wanted) => (found === wanted ? undefined : `${found}, not ${wanted}`);
const ignore = () => {
  throw new Refused('ignored');
};

export const CHECKS = { 'session.json': (it) => (it.form === 'digest' ? digests(it) : session(it)) };

function attempt(work, otherwise) {
  try {
    return work();
  } catch (error) {
    return error instanceof Refused ? ignore() : otherwise();
  }
}

/** Fields of a request that a reader keeps. */
function readRequest(json) {
  const { id, method: named, params, ...others } = JSON.parse(json);
  const isResponse = typeof named !== 'string' && ('result' in others || 'error' in others);
  if (typeof id !== 'string' || isResponse) {
    throw new Error('it cannot be answered');
  }
  const method = typeof named === 'string' ? named : '';
  const isText = (it) => it === null || (typeof it === 'string' && it.isWellFormed());
  const isList = Array.isArray(params) && params.every(isText);
  return { id, method, params: isList ? params.slice(0, 4).map((it) => it ?? '') : [] };
}

function digest({ id, method, params }) {
  const hash = createHash('sha256');
  for (const text of [id, method, ...params]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
    hash.update(length).update(text);
  }
  return hash.digest('hex');
}

const auxOf = (secret, sum) =>
  createHmac('sha256', bytes(secret)).update('aux').update(bytes(sum)).digest();

function digests({ input, secret, digest: wanted, aux }) {
  const found = digest(readRequest(input));
  return differs(found, wanted) ?? differs(hex(auxOf(secret, found)), aux);
}

function session(it) {
  const answer = {};
  return judged(it.expect, () => answered(it, answer)) ?? opened(it, answer);
}

/** Compares the answer of the vectors with what was found: its text, its keys and its content. */
function opened(it, { id, result, error, client }) {
  if (it.answer === undefined) {
    return id === undefined || it.expect === 'ask' ? undefined : 'there is an answer';
  }
  const own = JSON.stringify(error === undefined ? { id, result } : { id, error });
  const event = JSON.parse(it.answer);
  const key = conversation(it.transport_secret, client);
  const isOld = it.expect === 'nip04-transport';
  const text = isOld
    ? nip04.decrypt(it.transport_secret, client, event.content)
    : nip44.decrypt(event.content, key);
  const cause = JSON.parse(text).error;
  // The error text for a malformed request differs between implementations.
  return (it.expect === 'request'
    ? differs(Buffer.byteLength(cause) > 0 && Buffer.byteLength(cause) <= 96, true)
    : differs(own, it.plaintext))
    ?? differs(text, it.plaintext)
    ?? (isOld ? undefined : differs(nip44.encrypt(text, key, bytes(it.nonce)), event.content))
    ?? (verifyEvent(event) ? undefined : 'the answer does not verify')
    ?? differs(event.pubkey, getPublicKey(bytes(it.transport_secret)))
    ?? differs(JSON.stringify([event.kind, event.created_at, event.tags]), JSON.stringify(
      [KIND, it.time, [['p', client]]],
    ))
    ?? differs(event.sig, signature(event.id, it.transport_secret, new Uint8Array(32)));
}

const signature = (id, secret, aux) => hex(schnorr.sign(bytes(id), bytes(secret), aux));
const conversation = (secret, peer) => nip44.getConversationKey(bytes(secret), peer);

/** Fills in what is known of the answer; refuses with the class. */
function answered(it, answer) {
  const json = it.event + ' '.repeat(it.padding ?? 0);
  if (json.length > MAX_EVENT) {
    ignore();
  }
  const event = attempt(() => JSON.parse(json), ignore);
  const receiver = Array.isArray(event.tags) && event.tags.find((tag) => tag[0] === 'p')?.[1];
  if (event.kind !== KIND || receiver !== getPublicKey(bytes(it.transport_secret))) {
    ignore();
  }
  const isPaired = it.paired !== null;
  if ((isPaired && event.pubkey !== it.paired) || it.seen.includes(event.id) || !verifyEvent(event)) {
    ignore();
  }
  const content = Buffer.from(event.content);
  answer.client = event.pubkey;
  if (content.length >= 52 && content.toString('latin1').slice(-28).startsWith('?iv=')) {
    if (!isPaired) {
      ignore();
    }
    const text = attempt(() => nip04.decrypt(it.transport_secret, event.pubkey, event.content), ignore);
    answer.id = attempt(() => readRequest(text), ignore).id;
    fail(answer, 'nip04-transport');
  }
  const key = conversation(it.transport_secret, event.pubkey);
  const request = attempt(() => readRequest(nip44.decrypt(event.content, key)), ignore);
  if (!isPaired && !isConnect(request, it.secret)) {
    ignore();
  }
  if (Math.abs(event.created_at - it.now) > MAX_SKEW || event.created_at <= it.floor) {
    if (!isPaired) {
      ignore();
    }
    answer.id = request.id;
    fail(answer, 'stale');
  }
  answer.id = request.id;
  if (!isPaired) {
    answer.result = 'ack';
    return;
  }
  judge(it, request, answer);
  answer.result = execute(it, request, answer);
}

function isConnect({ method, params }, secret) {
  return method === 'connect' && params[1] === secret;
}

function fail(answer, kind, text = TEXTS[kind]) {
  answer.error = text;
  throw new Refused(kind);
}

/** Steps 9 to 12. */
function judge(it, request, answer) {
  if (['expired', 'revoked'].includes(it.state)) {
    fail(answer, it.state);
  }
  const { recorded } = it;
  const isRepeated = recorded?.id === request.id && recorded.digest === digest(request);
  if (isRepeated && recorded.verdict !== 'ok') {
    fail(answer, recorded.verdict);
  }
  if (!METHODS.includes(request.method)) {
    fail(answer, 'method');
  }
  const action = actionOf(request, answer);
  if (request.method === 'connect' && request.params[1] && request.params[1] !== it.secret) {
    fail(answer, 'secret');
  }
  if (action !== undefined && it.state === 'locked') {
    fail(answer, 'locked');
  }
  if (isRepeated || action === undefined) {
    return;
  }
  const { verdict } = decide(it.rules.map(readRule), action, it.now);
  if (verdict !== 'ok') {
    fail(answer, verdict);
  }
}

/** The action of a request whose parameters are valid. */
function actionOf({ method, params }, answer) {
  const malformed = () => fail(answer, 'request', undefined);
  const [first, second] = params;
  if (method === 'sign_event') {
    const template = (() => {
      try {
        return JSON.parse(first);
      } catch {
        return malformed();
      }
    })();
    const { created_at: time, kind, tags, content } = template;
    if (![time, kind].every(Number.isInteger) || !Array.isArray(tags) || typeof content !== 'string') {
      malformed();
    }
    const scope = scopeOf(template);
    const site = siteOf(scope?.split(' ')[1] ?? '');
    return { subject: 'sign', kind, scope: scope && sha256(scope), site: site && sha256(site) };
  }
  if (method.startsWith('nip')) {
    if (second === undefined || !/^[0-9a-f]{64}$/.test(first)) {
      malformed();
    }
    return { subject: method, peer: first };
  }
  if (method === 'connect' && first === undefined) {
    malformed();
  }
  return undefined;
}

function execute(it, request, answer) {
  const [first, second] = request.params;
  const user = bytes(it.user_secret);
  const key = () => conversation(it.user_secret, first);
  const decrypted = (work) => {
    try {
      return work();
    } catch {
      return fail(answer, 'failed', 'decryption failed');
    }
  };
  switch (request.method) {
    case 'connect':
      return 'ack';
    case 'ping':
      return 'pong';
    case 'get_public_key':
      return getPublicKey(user);
    case 'sign_event':
      return signed(it, request, answer);
    case 'nip44_encrypt':
      return second === ''
        ? fail(answer, 'failed', 'the text is empty or too long')
        : nip44.encrypt(second, key(), bytes(it.nonce));
    case 'nip44_decrypt':
      return decrypted(() => nip44.decrypt(second, key()));
    case 'nip04_decrypt':
      return decrypted(() => nip04.decrypt(it.user_secret, first, second));
    default: {
      // Its IV is random: what the vectors have is read instead.
      const { result } = JSON.parse(it.plaintext);
      return nip04.decrypt(it.user_secret, first, result) === second ? result : 'another text';
    }
  }
}

function signed(it, request, answer) {
  const { pubkey: named, created_at, kind, tags, content } = JSON.parse(request.params[0]);
  const pubkey = getPublicKey(bytes(it.user_secret));
  if (named && named !== pubkey) {
    fail(answer, 'failed', 'the event names another author');
  }
  const event = { pubkey, created_at, kind, tags, content };
  const id = getEventHash(event);
  const aux = auxOf(it.transport_secret, digest(request));
  const sig = signature(id, it.user_secret, new Uint8Array(aux));
  return JSON.stringify({ id, ...event, sig });
}
