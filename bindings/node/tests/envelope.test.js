// The package as its users have it: `node --test`, with ENDSEAL_PACKAGE for another place of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

const { EndsealError, Identity, PublicIdentity, Recipients, inspect, open, openMany, openStream, seal, sealStream } =
  await import(process.env.ENDSEAL_PACKAGE ?? 'endseal');

const context = 'example.org/test';
const [alice, bob] = [Identity.generate(), Identity.generate()];
const to = new Recipients([bob.public, alice.public]);

const stream = (bytes, piece = 100_000) =>
  new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += piece) controller.enqueue(bytes.subarray(at, at + piece));
      controller.close();
    },
  });
async function all(readable) {
  const pieces = [];
  for await (const piece of readable) pieces.push(piece);
  return Buffer.concat(pieces);
}
const fails = (promise, code) =>
  assert.rejects(Promise.resolve().then(promise), (error) => {
    assert(error instanceof EndsealError, String(error));
    assert.equal(error.code, code);
    return true;
  });

test('memory and streams agree', async () => {
  for (const length of [0, 1, 16_384, 4 << 20, (4 << 20) + 1, 9 << 20]) {
    const content = Buffer.alloc(length, 'abcdefg');
    const whole = await seal(content, { from: alice, to, context });
    const streamed = await all(stream(content).pipeThrough(sealStream({ from: alice, to, context })));
    assert.equal(streamed.length, whole.length);
    for (const envelope of [whole, streamed]) {
      for (const as of [alice, bob]) {
        const opened = await open(envelope, { as, context });
        assert(Buffer.from(opened.content).equals(content));
        assert(opened.sender.equals(alice.public.short));
        const { content: readable, ...facts } = await openStream(stream(envelope), { as, context });
        assert.deepEqual([facts.messageId, String(facts.sender), facts.suite, facts.time],
          [opened.messageId, String(opened.sender), opened.suite, opened.time]);
        assert((await all(readable)).equals(content));
      }
    }
  }
});

test('a stream that was cut short ends in an error', async () => {
  const content = Buffer.alloc(5 << 20);
  const envelope = await seal(content, { from: alice, to, context });
  for (const cut of [0, 10, 100, 3_000, 4 << 20, envelope.length - 20_000, envelope.length - 1]) {
    let length = 0;
    let error;
    try {
      const opened = await openStream(stream(envelope.subarray(0, cut)), { as: bob, context });
      for await (const piece of opened.content) length += piece.length;
    } catch (it) {
      error = it;
    }
    assert(error instanceof EndsealError, `${cut}: ${error}`);
    assert(['authentication', 'header'].includes(error.code), error.code);
    assert(length < content.length);
  }
});

test('errors have codes', async () => {
  const envelope = await seal('x', { from: alice, to: [bob.public], context });
  await fails(() => open(envelope, { as: alice, context }), 'authentication');
  await fails(() => open(envelope, { as: bob, context: 'other' }), 'authentication');
  await fails(() => open(envelope, { as: bob, context, from: [bob.public] }), 'sender');
  await fails(() => open(envelope, { as: bob, context, maxAgeMs: 1_000 }), 'too-old');
  await fails(() => open(new Uint8Array(5), { as: bob, context }), 'header');
  await fails(() => open(envelope, { as: bob }), 'argument');
  await fails(() => open('text', { as: bob, context }), 'header');
  await fails(() => seal('x', { from: alice, to: [], context }), 'argument');
  await fails(() => seal('x', { from: alice, to: ['endseal1wrong'], context }), 'argument');
  await fails(() => seal('x', { from: alice, to: String(bob.public), context }), 'argument');
  await fails(() => seal('x', { from: {}, to, context }), 'argument');
  await fails(() => seal(5, { from: alice, to, context }), 'argument');
  await fails(() => seal('x', { from: alice, to: [bob.public.short], context }), 'argument');
  for (const wrong of [{ maxAgeMs: '1' }, { maxAgeMs: null }, { maxAgeMs: NaN }, { maxAgeMs: -1 }, { requirePostQuantum: null }]) {
    await fails(() => open(envelope, { as: bob, context, ...wrong }), 'argument');
  }
  for (const wrong of [{ time: 5 }, { time: null }, { time: new Date(NaN) }, { time: new Date(0) }, { suite: null }]) {
    await fails(() => seal('x', { from: alice, to, context, ...wrong }), 'argument');
  }
  await fails(() => alice.lock(5), 'argument');
  assert.throws(() => inspect(new Uint8Array(3)), { code: 'header' });
  assert.throws(() => sealStream({ from: alice, to }), { code: 'argument' });
});

test('suites, times and numbers of recipients', async () => {
  const classical = await seal('', { from: alice, to: [bob.public.short], context, suite: 'x25519' });
  await fails(() => open(classical, { as: bob, context, requirePostQuantum: true }), 'suite');
  const time = new Date();
  const hidden = await seal('abc', { from: alice, to, context, time, hideCount: true });
  assert.deepEqual(inspect(hidden), { suite: inspect(hidden).suite, slots: 8, contentLength: 3 });
  const opened = await open(hidden, { as: bob, context, maxAgeMs: 60_000, requirePostQuantum: true });
  assert.equal(opened.time?.getTime(), time.getTime());
  const old = await seal('', { from: alice, to, context, time: new Date(time.getTime() - 7_200_000) });
  await fails(() => open(old, { as: bob, context, maxAgeMs: 3_600_000 }), 'too-old');
});

test('a backlog keeps its order', async () => {
  const sealed = await Promise.all(Array.from({ length: 20 }, (_, at) => seal(`${at}`, { from: alice, to, context })));
  sealed[7][sealed[7].length - 1] ^= 1;
  const results = await openMany(sealed, { as: bob, context });
  for (const [at, result] of results.entries()) {
    if (at === 7) assert(result instanceof EndsealError && result.code === 'authentication');
    else assert.equal(Buffer.from(result.content).toString(), `${at}`);
  }
});

test('identities are kept in files, and secrets behind handles', async () => {
  const identity = Identity.generate();
  const file = await identity.lock('correct horse battery staple');
  assert((await Identity.unlock(file, 'correct horse battery staple')).public.equals(identity.public));
  await fails(() => Identity.unlock(file, 'wrong'), 'passphrase');
  await fails(() => Identity.unlock(file), 'passphrase');
  await fails(() => Identity.unlock('no file', 'x'), 'header');
  assert.deepEqual([Object.keys(identity), Object.getOwnPropertyNames(identity)], [[], []]);
  assert.throws(() => JSON.stringify({ identity }), TypeError);
  assert.deepEqual(structuredClone(identity), {});
  assert.throws(() => new Identity(), TypeError);
  const text = String(identity.public);
  assert.equal(JSON.stringify({ it: PublicIdentity.parse(text) }), JSON.stringify({ it: text }));
  const locking = identity.lock('while it is disposed of');
  identity.dispose();
  assert.match(await locking, /^endseal identity/);
  assert.throws(() => identity.public, { code: 'argument' });
  await fails(() => seal('', { from: identity, to, context }), 'argument');
});

test('what a caller changes meanwhile changes nothing', async () => {
  const content = new Uint8Array(1 << 20).fill(1);
  const sealing = seal(content, { from: alice, to, context });
  content.fill(2);
  const { content: opened } = await open(await sealing, { as: bob, context });
  assert(opened.every((byte) => byte === 1));
});

test('the event loop goes on', async () => {
  let turns = 0;
  let done = false;
  const locked = alice.lock('a long passphrase').then(() => { done = true; });
  while (!done) {
    turns += 1;
    await new Promise((next) => setImmediate(next));
  }
  await locked;
  // 0.2 s of Argon2id.
  assert(turns > 100, `${turns}`);
});
