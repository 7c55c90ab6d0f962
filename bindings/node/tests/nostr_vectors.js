// The vectors of docs/spec/nostr.md, by a build that makes keys from bytes.

import { NostrKey, TestConversation, backend } from 'endseal/nostr';

import { equal, ok, sameBytes, test } from './check.js';
import { read } from './files.js';

const hex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (it) => Number.parseInt(it, 16));
const json = async (name) => JSON.parse(new TextDecoder().decode(await read(`nostr_vectors/${name}.json`)));

/** Runs all vectors of a file, and counts those that opened and those that were refused. */
async function every(name, counts, run) {
  let [opened, refused] = [0, 0];
  for (const vector of await json(name)) {
    const verdict = await run(vector).catch((error) => error.code ?? String(error));
    equal(verdict ?? 'ok', vector.expect, `${name}: ${vector.comment}`);
    if (verdict === undefined) opened += 1;
    else refused += 1;
  }
  console.log(`${name} (${backend.kind}): ${opened + refused} vectors: ${opened} opened, ${refused} refused`);
  equal([opened, refused], counts);
}

const plaintextOf = ({ plaintext, plaintext_byte: byte, plaintext_length: length }) =>
  plaintext === undefined ? new Uint8Array(length).fill(byte) : hex(plaintext);

test('every vector of NIP-44', () => every('nip44', [15, 70], async (vector) => {
  if (vector.op === 'key') {
    const key = TestConversation.key(hex(vector.secret), hex(vector.public));
    sameBytes(key, hex(vector.conversation_key));
    return;
  }
  const conversation = new TestConversation(hex(vector.conversation_key));
  if (vector.op === 'seal') {
    conversation.seal(plaintextOf(vector), hex(vector.nonce), vector.lengths !== 'extended');
    return;
  }
  let { payload } = vector;
  if (vector.expect === 'ok') {
    const sealed = conversation.seal(plaintextOf(vector), hex(vector.nonce), false);
    payload ??= sealed;
    equal(sealed, payload, vector.comment);
  }
  const opened = conversation.open(payload);
  sameBytes(opened, plaintextOf(vector), vector.comment);
  // A bit of each character of a short payload.
  if (payload.length > 1_000) return;
  for (let at = 0; at < payload.length; at += 1) {
    const changed = String.fromCharCode(payload.charCodeAt(at) ^ 1);
    let error;
    try {
      conversation.open(payload.slice(0, at) + changed + payload.slice(at + 1));
    } catch (thrown) {
      error = thrown;
    }
    if (!error?.code) throw new Error(`${vector.comment}: a bit of character ${at} was not noticed`);
  }
}));

test('every vector of gift wraps', () => every('gift-wrap', [9, 47], async (vector) => {
  const key = NostrKey.fromBytes(hex(vector.receiver_secret));
  const opened = await key.unwrap(vector.wrap);
  equal(opened.rumor, JSON.parse(vector.rumor));
  equal(opened.rumor.pubkey, vector.author);
  equal(opened.expiration?.getTime(), vector.expiration && vector.expiration * 1000);
  equal(opened.ephemeral, vector.lifetime === 'ephemeral');
  key.dispose();
}));

/** The code of a call that must fail. */
async function codeOf(work) {
  try {
    await work();
  } catch (error) {
    return error.code ?? String(error);
  }
  return 'ok';
}

const sha256 = async (bytes) =>
  Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)), (it) =>
    it.toString(16).padStart(2, '0')).join('');

test('every vector of others', async () => {
  const { valid, invalid } = await json('others/nip44');
  let count = 0;
  for (const it of valid.get_conversation_key) {
    sameBytes(TestConversation.key(hex(it.sec1), hex(it.pub2)), hex(it.conversation_key));
    count += 1;
  }
  for (const it of invalid.get_conversation_key) {
    equal(await codeOf(() => TestConversation.key(hex(it.sec1), hex(it.pub2))), 'key', it.note);
    count += 1;
  }
  const utf8 = new TextEncoder();
  for (const it of valid.encrypt_decrypt) {
    const conversation = new TestConversation(hex(it.conversation_key));
    equal(conversation.seal(utf8.encode(it.plaintext), hex(it.nonce), true), it.payload);
    const [one, other] = [it.sec1, it.sec2].map((secret) => NostrKey.fromBytes(hex(secret)));
    equal(await one.decrypt(other.publicKey, it.payload), it.plaintext);
    equal(await other.decrypt(one.publicKey, it.payload), it.plaintext);
    count += 1;
  }
  for (const it of [...valid.encrypt_decrypt_long_msg, ...valid.extended]) {
    const conversation = new TestConversation(hex(it.conversation_key));
    const plaintext = utf8.encode(it.pattern.repeat(it.repeat));
    equal(await sha256(plaintext), it.plaintext_sha256);
    const payload = conversation.seal(plaintext, hex(it.nonce), false);
    equal(await sha256(utf8.encode(payload)), it.payload_sha256);
    sameBytes(conversation.open(payload), plaintext);
    count += 1;
  }
  for (const it of invalid.decrypt) {
    const code = await codeOf(() => new TestConversation(hex(it.conversation_key)).open(it.payload));
    ok(['version', 'length', 'encoding', 'authentication'].includes(code), `${it.note}: ${code}`);
    count += 1;
  }
  for (const it of (await json('others/nip17')).gift_wraps) {
    const { rumor } = await NostrKey.fromBytes(hex(it.receiver_secret)).unwrap(it.wrap);
    equal([rumor, rumor.pubkey], [JSON.parse(it.rumor), it.author]);
    count += 1;
  }
  for (const it of (await json('others/nip49')).decrypt) {
    const key = await NostrKey.unlock(it.encrypted_key, it.password);
    equal(key.publicKey, NostrKey.fromBytes(hex(it.secret_key)).publicKey);
    count += 1;
  }
  console.log(`vectors of others (${backend.kind}): ${count}`);
  equal(count, 74);
});

/** The codes of an encrypted key, by the classes of the vectors. */
const CODES = { authentication: 'passphrase', key: 'passphrase', version: 'version', ok: undefined };

test('every vector of encrypted keys', () => every('encrypted-key', [8, 34], async (vector) => {
  const options = { maxLogN: vector.max_log_n };
  const unlocked = await NostrKey.unlock(vector.text, vector.password, options).catch((error) => error);
  if (vector.expect !== 'ok') {
    // A cost that no key may have is no form; one above the limit is.
    const code = CODES[vector.expect] ?? (/above the reader/.test(vector.comment) ? 'limit' : 'header');
    equal(unlocked.code, code, vector.comment);
    throw Object.assign(new Error(), { code: vector.expect });
  }
  const same = NostrKey.fromBytes(hex(vector.secret));
  equal(unlocked.publicKey, same.publicKey, vector.comment);
}));
