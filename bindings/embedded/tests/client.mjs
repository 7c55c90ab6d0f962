// A client of nostr-tools that sends requests of NIP-46 to a signer in C and reads its answers:
// `node client.mjs PROGRAM`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../../../peers/node-nostr/main.js', import.meta.url));
const nip04 = require('nostr-tools/nip04');
const nip44 = require('nostr-tools/nip44');
const { finalizeEvent, generateSecretKey, getPublicKey, verifyEvent } = require('nostr-tools/pure');

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const [user, transport, client, other] = Array.from({ length: 4 }, generateSecretKey);
const now = Math.floor(Date.now() / 1000);
const signer = spawn(process.argv[2], [hex(user), hex(transport), String(now)], {
  stdio: ['pipe', 'pipe', 'ignore'],
});
const lines = createInterface({ input: signer.stdout })[Symbol.asyncIterator]();

/** Sends a request. Returns the answer, or nothing. */
async function ask(method, params, { from = client, at = now } = {}) {
  const key = nip44.getConversationKey(from, getPublicKey(transport));
  const id = Math.random().toString(36).slice(2);
  const event = finalizeEvent({
    kind: 24133,
    created_at: at,
    tags: [['p', getPublicKey(transport)]],
    content: nip44.encrypt(JSON.stringify({ id, method, params }), key),
  }, from);
  signer.stdin.write(`${JSON.stringify(event)}\n`);
  const { value: line } = await lines.next();
  if (line === '') return undefined;
  const answer = JSON.parse(line);
  assert(verifyEvent(answer));
  assert.equal(answer.kind, 24133);
  assert.equal(answer.pubkey, getPublicKey(transport));
  assert.deepEqual(answer.tags, [['p', getPublicKey(from)]]);
  const response = JSON.parse(nip44.decrypt(answer.content, key));
  assert.equal(response.id, id);
  return response;
}

let answered = 0;
let ignored = 0;
async function answers(method, params, result, options) {
  const response = await ask(method, params, options);
  assert.equal(response?.error, undefined, method);
  if (typeof result === 'function') result(response.result);
  else assert.equal(response.result, result);
  answered += 1;
}
async function refuses(method, params, error, options) {
  const response = await ask(method, params, options);
  assert.match(response?.error ?? '', error);
  assert.equal(response.result, undefined);
  answered += 1;
}
async function ignores(method, params, options) {
  assert.equal(await ask(method, params, options), undefined);
  ignored += 1;
}

await ignores('ping', []);
await ignores('connect', [getPublicKey(transport), 'wrong']);
await answers('connect', [getPublicKey(transport), 's3cret', '', '{"name":"nostr-tools"}'], 'ack');
await ignores('connect', [getPublicKey(transport), 's3cret'], { from: other });
await answers('ping', [], 'pong');
await answers('get_public_key', [], getPublicKey(user));
await answers('switch_relays', [], 'null');
for (const content of ['hello', '"\\\n\u0001 é 😀', 'x'.repeat(5000)]) {
  const template = { kind: 1, created_at: now, tags: [['t', 'a"b']], content };
  await answers('sign_event', [JSON.stringify(template)], (text) => {
    const event = JSON.parse(text);
    assert(verifyEvent(event));
    assert.equal(event.pubkey, getPublicKey(user));
    assert.equal(event.content, content);
    assert.deepEqual(event.tags, template.tags);
  });
}
await refuses('sign_event', ['{"kind":4,"created_at":1,"tags":[],"content":""}'], /^not allowed$/);
await refuses('sign_event', ['{"kind":1}'], /created_at/);
await refuses('no_method', [], /^the method is not supported$/);
await refuses('ping', [], /five minutes/, { at: now - 301 });
const shared = nip44.getConversationKey(other, getPublicKey(user));
const peer = getPublicKey(other);
for (const text of ['a', 'é'.repeat(300), 'x'.repeat(4096)]) {
  await answers('nip44_encrypt', [peer, text], (it) => assert.equal(nip44.decrypt(it, shared), text));
  await answers('nip44_decrypt', [peer, nip44.encrypt(text, shared)], text);
  const legacy = (it) => assert.equal(nip04.decrypt(other, getPublicKey(user), it), text);
  await answers('nip04_encrypt', [peer, text], legacy);
  await answers('nip04_decrypt', [peer, nip04.encrypt(other, getPublicKey(user), text)], text);
}
await refuses('nip44_decrypt', [peer, 'x'.repeat(200)], /^decryption failed$/);
// The answer would be longer than the buffers.
await refuses('nip44_encrypt', [peer, 'x'.repeat(5600)], /too large/);
await answers('logout', [], 'ack');
signer.stdin.end();
console.log(`nostr-tools: ${answered} answers read, ${ignored} requests ignored`);
