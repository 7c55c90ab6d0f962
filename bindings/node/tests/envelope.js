// The package as its users have it.

import {
  EndsealError, Identity, PublicIdentity, Recipients, backend, inspect, open, openMany, openStream, seal, sealStream,
} from 'endseal';

import { allOf, equal, failure, ok, sameBytes, test, withoutWebCrypto } from './check.js';

const context = 'example.org/test';
const [alice, bob] = [Identity.generate(), Identity.generate()];
const to = new Recipients([bob.public, alice.public]);

const filled = (length) => Uint8Array.from({ length }, (_, at) => at % 251);
const textOf = (bytes) => new TextDecoder().decode(bytes);
const stream = (bytes, piece = 100_000) =>
  new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += piece) controller.enqueue(bytes.subarray(at, at + piece));
      controller.close();
    },
  });
async function fails(work, code) {
  const error = await failure(work);
  ok(error instanceof EndsealError, String(error));
  equal(error.code, code, error.message);
}

test('memory and streams agree', async () => {
  for (const length of [0, 1, 16_384, 65_536, 65_537, 256 * 1024, 256 * 1024 + 1, 4 << 20, (4 << 20) + 1, 9 << 20]) {
    const content = filled(length);
    const whole = await seal(content, { from: alice, to, context });
    const streamed = await allOf(stream(content).pipeThrough(sealStream({ from: alice, to, context })));
    equal(streamed.length, whole.length);
    for (const envelope of [whole, streamed]) {
      for (const as of [alice, bob]) {
        const opened = await open(envelope, { as, context });
        sameBytes(opened.content, content);
        ok(opened.sender.equals(alice.public.short));
        const { content: readable, ...facts } = await openStream(stream(envelope), { as, context });
        equal([facts.messageId, String(facts.sender), facts.suite, facts.time],
          [opened.messageId, String(opened.sender), opened.suite, opened.time]);
        sameBytes(await allOf(readable), content);
      }
    }
    sameBytes(content, filled(length), 'the content was changed');
  }
});

test('Web Cryptography makes the same bytes as WebAssembly', async () => {
  if (backend.kind === 'native') return;
  const { getRandomValues } = crypto;
  const repeated = async (work) => {
    crypto.getRandomValues = (bytes) => bytes.fill(7);
    try {
      return await work();
    } finally {
      crypto.getRandomValues = getRandomValues;
    }
  };
  for (const length of [65_537, 81_864, 4 << 20, (9 << 20) + 7]) {
    const content = filled(length);
    const options = { from: alice, to, context };
    const streams = () => allOf(stream(content, 70_001).pipeThrough(sealStream(options)));
    const whole = () => seal(content, options);
    // The content is not part of the choice of the keys of a stream, and long content is one.
    const made = await repeated(streams);
    sameBytes(await withoutWebCrypto(() => repeated(streams)), made, `${length}`);
    sameBytes(await repeated(whole), made, `${length} in memory`);
    for (const as of [alice, bob]) {
      const opened = await withoutWebCrypto(() => open(made, { as, context }));
      sameBytes(opened.content, content);
    }
  }
});

test('a damaged chunk is an error, and what was before it is authentic', async () => {
  const content = filled(9 << 20);
  const envelope = await seal(content, { from: alice, to, context });
  const run = async (at) => {
    const damaged = envelope.slice();
    damaged[at] ^= 1;
    let length = 0;
    const error = await failure(async () => {
      const reader = (await openStream(stream(damaged), { as: bob, context })).content.getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        sameBytes(next.value, content.subarray(length, length + next.value.length));
        length += next.value.length;
      }
    });
    const whole = await failure(() => open(damaged, { as: bob, context }));
    equal([error.code, error.message], [whole.code, whole.message]);
    return [error.code, error.message, length];
  };
  for (const [at, length] of [[5_000, 0], [1 << 20, 0], [5 << 20, 4 << 20], [envelope.length - 1, 8 << 20]]) {
    const found = await run(at);
    equal([found[0], found[2]], ['authentication', length], `${at}`);
    if (backend.kind === 'wasm') equal(await withoutWebCrypto(() => run(at)), found);
  }
});

test('a stream that was cut short ends in an error', async () => {
  const content = new Uint8Array(5 << 20);
  const envelope = await seal(content, { from: alice, to, context });
  for (const cut of [0, 10, 100, 3_000, 4 << 20, envelope.length - 20_000, envelope.length - 1]) {
    let length = 0;
    const error = await failure(async () => {
      const opened = await openStream(stream(envelope.subarray(0, cut)), { as: bob, context });
      const reader = opened.content.getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read()) length += next.value.length;
    });
    ok(error instanceof EndsealError, `${cut}: ${error}`);
    ok(['authentication', 'header'].includes(error.code), error.code);
    ok(length < content.length);
    const whole = await failure(() => open(envelope.subarray(0, cut), { as: bob, context }));
    ok(['authentication', 'header'].includes(whole.code), String(whole));
  }
});

test('errors have codes', async () => {
  const envelope = await seal('x', { from: alice, to: [bob.public], context });
  await fails(() => open(envelope, { as: alice, context }), 'authentication');
  await fails(() => open(envelope, { as: bob, context: 'other' }), 'authentication');
  await fails(() => open(envelope, { as: bob, context, from: [bob.public] }), 'sender');
  await fails(() => open(envelope, { as: bob, context, from: [] }), 'sender');
  await fails(() => open(envelope, { as: bob, context, maxAgeMs: 1_000 }), 'too-old');
  await fails(() => open(new Uint8Array(5), { as: bob, context }), 'header');
  await fails(() => open(envelope, { as: bob }), 'argument');
  await fails(() => open('text', { as: bob, context }), 'argument');
  await fails(() => seal('x', { from: alice, to: [], context }), 'argument');
  await fails(() => seal('x', { from: alice, to, context: 'x'.repeat(1025) }), 'argument');
  await fails(() => seal('x', { from: alice, to: ['endseal1wrong'], context }), 'argument');
  await fails(() => seal('x', { from: alice, to: String(bob.public), context }), 'argument');
  await fails(() => seal('x', { from: {}, to, context }), 'argument');
  await fails(() => seal(5, { from: alice, to, context }), 'argument');
  await fails(() => seal('x', { from: alice, to: [bob.public.short], context }), 'argument');
  for (const wrong of [{ maxAgeMs: '1' }, { maxAgeMs: null }, { maxAgeMs: NaN }, { maxAgeMs: -1 }, { requirePostQuantum: null }]) {
    await fails(() => open(envelope, { as: bob, context, ...wrong }), 'argument');
  }
  for (const wrong of [{ time: 5 }, { time: null }, { time: new Date(NaN) }, { time: new Date(0) }, { suite: null }, { suite: 'auto' }]) {
    await fails(() => seal('x', { from: alice, to, context, ...wrong }), 'argument');
  }
  await fails(() => alice.lock(5), 'argument');
  await fails(() => alice.lock(''), 'argument');
  await fails(() => alice.lock('a line\n'), 'argument');
  await fails(() => inspect(new Uint8Array(3)), 'header');
  await fails(() => sealStream({ from: alice, to }), 'argument');
});

test('suites, times and numbers of recipients', async () => {
  const classical = await seal('', { from: alice, to: [bob.public.short], context, suite: 'x25519' });
  await fails(() => open(classical, { as: bob, context, requirePostQuantum: true }), 'suite');
  const time = new Date();
  const hidden = await seal('abc', { from: alice, to, context, time, hideCount: true });
  equal(inspect(hidden), { suite: 'x25519-mlkem768', slots: 8, contentLength: 3 });
  const opened = await open(hidden, { as: bob, context, maxAgeMs: 60_000, requirePostQuantum: true });
  equal(opened.time?.getTime(), time.getTime());
  const old = await seal('', { from: alice, to, context, time: new Date(time.getTime() - 7_200_000) });
  await fails(() => open(old, { as: bob, context, maxAgeMs: 3_600_000 }), 'too-old');
  equal([to.size, to.postQuantum, new Recipients([bob.public.short]).postQuantum], [2, true, false]);
});

test('a backlog keeps its order', async () => {
  const sealed = await Promise.all(Array.from({ length: 150 }, (_, at) => seal(`${at}`, { from: alice, to, context })));
  sealed[7][sealed[7].length - 1] ^= 1;
  const long = filled(300_000);
  sealed.splice(100, 0, await seal(long, { from: alice, to, context }));
  const results = await openMany(sealed, { as: bob, context });
  equal(results.length, 151);
  for (const [at, result] of results.entries()) {
    if (at === 7) ok(result instanceof EndsealError && result.code === 'authentication');
    else if (at === 100) sameBytes(result.content, long);
    else equal(textOf(result.content), `${at < 100 ? at : at - 1}`);
  }
  equal(await openMany([], { as: bob, context }), []);
});

test('public identities are texts', async () => {
  const text = String(bob.public);
  const parsed = PublicIdentity.parse(` ${text}\n`);
  ok(parsed.equals(bob.public) && !parsed.equals(alice.public));
  ok(parsed.postQuantum && !parsed.short.postQuantum);
  ok(parsed.equals(parsed.short) && !parsed.equals(alice.public) && !parsed.equals(String(parsed)));
  equal([parsed.key.length, parsed.key], [32, bob.public.short.key]);
  const { sender } = await open(await seal('', { from: bob, to, context }), { as: alice, context });
  equal([String(sender), sender.key, sender.postQuantum], [String(bob.public.short), bob.public.key, false]);
  equal(JSON.stringify({ it: parsed }), JSON.stringify({ it: text }));
});

test('identities are kept in files, and secrets behind handles', async () => {
  const identity = Identity.generate();
  // One `é` of two code points, and its normal form.
  const file = await identity.lock('correct horse cafe\u0301');
  ok((await Identity.unlock(file, 'correct horse caf\u00e9')).public.equals(identity.public));
  await fails(() => Identity.unlock(file, 'wrong'), 'passphrase');
  await fails(() => Identity.unlock(file), 'passphrase');
  await fails(() => Identity.unlock('no file', 'x'), 'header');
  equal([Object.keys(identity), Object.getOwnPropertyNames(identity)], [[], []]);
  ok((await failure(() => JSON.stringify({ identity }))) instanceof TypeError);
  equal(structuredClone(identity), {});
  ok((await failure(() => new Identity())) instanceof TypeError);
  const locking = identity.lock('while it is disposed of');
  identity.dispose();
  identity.dispose();
  ok((await locking).startsWith('endseal identity'));
  await fails(() => identity.public, 'argument');
  await fails(() => seal('', { from: identity, to, context }), 'argument');
});

test('what a caller changes meanwhile changes nothing', async () => {
  const content = new Uint8Array(5 << 20).fill(1);
  const identity = Identity.generate();
  const sealing = seal(content, { from: identity, to, context });
  content.fill(2);
  identity.dispose();
  const { content: opened } = await open(await sealing, { as: bob, context });
  ok(opened.every((byte) => byte === 1));
  const reader = Identity.generate();
  const sealed = await Promise.all(Array.from({ length: 200 }, () => seal('x', { from: alice, to: [reader.public], context })));
  const opening = openMany(sealed, { as: reader, context });
  reader.dispose();
  sealed[199].fill(0);
  ok((await opening).every((it) => textOf(it.content ?? '') === 'x'));
});

test('bytes of other realms are bytes, and transferred ones are not', async () => {
  if (globalThis.process) {
    const { runInNewContext } = await import('node:vm');
    const all = runInNewContext('({ bytes: Uint8Array.of(1, 2), buffer: Uint8Array.of(1, 2).buffer, time: new Date(9) })');
    for (const content of [all.bytes, all.buffer]) {
      const envelope = await seal(content, { from: alice, to, context, time: all.time });
      const opened = await open(envelope, { as: bob, context });
      sameBytes(opened.content, Uint8Array.of(1, 2));
      equal(opened.time.getTime(), 9);
    }
  }
  const bytes = Uint8Array.of(1, 2);
  structuredClone(bytes, { transfer: [bytes.buffer] });
  for (const content of [bytes, bytes.buffer]) {
    await fails(() => seal(content, { from: alice, to, context }), 'argument');
  }
});

test('timers and arrays of a test environment change nothing', async () => {
  const { setImmediate, MessageChannel, Uint8Array: Bytes } = globalThis;
  const never = () => {};
  const content = filled(2 << 20);
  try {
    Object.assign(globalThis, { setImmediate: setImmediate && never, MessageChannel: never });
    globalThis.Uint8Array = class extends Bytes {};
    const envelope = await seal(content, { from: alice, to, context });
    const opened = await openStream(stream(envelope), { as: bob, context });
    ok(opened.sender.equals(alice.public));
    sameBytes(await allOf(opened.content), content);
  } finally {
    Object.assign(globalThis, { setImmediate, MessageChannel, Uint8Array: Bytes });
    if (!setImmediate) delete globalThis.setImmediate;
  }
});

const turns = async (work) => {
  let [count, done] = [0, false];
  const finished = work().finally(() => { done = true; });
  while (!done) {
    count += 1;
    await new Promise((next) => setTimeout(next));
  }
  await finished;
  return count;
};

test('half of a surrogate pair is no text', async () => {
  const half = '\u{1f600}'.slice(0, 1);
  const options = { from: alice, to, context };
  await fails(() => seal(`a${half}`, options), 'argument');
  await fails(() => seal('a', { ...options, context: half }), 'argument');
  const envelope = await seal('\u{1f600}', options);
  equal(textOf((await open(envelope, { as: bob, context })).content), '\u{1f600}');
  await fails(() => open(envelope, { as: bob, context: half }), 'argument');
  await fails(() => alice.lock(half), 'argument');
  await fails(() => Identity.unlock('', half), 'argument');
  const cut = new ReadableStream({ start: (it) => (it.enqueue(half), it.close()) });
  await fails(() => allOf(cut.pipeThrough(sealStream(options))), 'argument');
});

test('an option that is not known is an error', async () => {
  const envelope = await seal('x', { from: alice, to, context });
  for (const options of [{ senders: [bob.public] }, { from: undefined }, { maxAge: 1 }, { requirePostQantum: true }]) {
    await fails(() => open(envelope, { as: bob, context, ...options }), 'argument');
  }
  await fails(() => seal('x', { from: alice, to, context, hide_count: true }), 'argument');
  await fails(() => open('an envelope', { as: bob, context }), 'argument');
  await fails(() => openStream('notes.es', { as: bob, context }), 'argument');
  const { content } = await open(envelope.buffer, { as: bob, context });
  equal(textOf(content), 'x');
});

test('the event loop goes on', async () => {
  // Who blocks it lets it turn once, at the end.
  const counted = await turns(() => seal(new Uint8Array(64 << 20), { from: alice, to, context }));
  ok(counted > 1, `${counted}`);
  let file;
  const locking = await turns(async () => { file = await alice.lock('a long passphrase'); });
  ok(locking > 10, `lock: ${locking}`);
  const unlocking = await turns(() => Identity.unlock(file, 'a long passphrase'));
  ok(unlocking > 10, `unlock: ${unlocking}`);
});

test('without randomness nothing is made', async () => {
  if (backend.kind === 'native') return;
  const { getRandomValues } = crypto;
  crypto.getRandomValues = () => { throw new Error('no randomness'); };
  try {
    await fails(() => Identity.generate(), 'random');
    await fails(() => seal('x', { from: alice, to, context }), 'random');
    await fails(() => alice.lock('a passphrase'), 'random');
    await fails(() => sealStream({ from: alice, to, context }), 'random');
  } finally {
    crypto.getRandomValues = getRandomValues;
  }
});
