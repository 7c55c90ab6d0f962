// endseal/nostr as its users have it.

import { EndsealError, NostrKey, RemoteSigner, publicKey, verifyEvent } from 'endseal/nostr';

import { equal, failure, ok, test } from './check.js';

const [alice, bob, carol] = [NostrKey.generate(), NostrKey.generate(), NostrKey.generate()];

async function fails(work, code) {
  const error = await failure(work);
  ok(error instanceof EndsealError, String(error));
  equal(error.code, code, error.message);
}

/** The text with another character at a place. */
const changed = (text, at) => `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;

test('both owners of two keys read what one encrypts', async () => {
  for (const text of ['a', 'é 😀 "\\\n\u0001', 'x'.repeat(70_000)]) {
    const payload = await alice.encrypt(bob.publicKey, text);
    equal(await bob.decrypt(alice.publicKey, payload), text);
    equal(await alice.decrypt(bob.publicKey, payload), text);
    ok(payload !== (await alice.encrypt(bob.publicKey, text)), 'a nonce was used twice');
    await fails(() => carol.decrypt(alice.publicKey, payload), 'authentication');
    for (const at of [20, payload.length - 20]) {
      await fails(() => bob.decrypt(alice.publicKey, changed(payload, at)), 'authentication');
    }
    const short = payload.length === 132 ? 'length' : 'authentication';
    await fails(() => bob.decrypt(alice.publicKey, payload.slice(0, -4)), short);
  }
  await fails(() => bob.decrypt(alice.publicKey, `#${'A'.repeat(200)}`), 'version');
  await fails(() => bob.decrypt(alice.publicKey, 'A'.repeat(20)), 'length');
  await fails(() => bob.decrypt(alice.publicKey, `Ag${'!'.repeat(200)}`), 'encoding');
  await fails(() => alice.encrypt(bob.publicKey, ''), 'length');
  await fails(() => alice.encrypt('00'.repeat(32), 'a'), 'argument');
  await fails(() => alice.encrypt(bob.publicKey, 5), 'argument');
  await fails(() => alice.encrypt(bob.publicKey, 'a\ud800'), 'argument');
  await fails(() => alice.lock('a\udfff'), 'argument');
});

test('a private message has a wrap for each recipient, and one for the author', async () => {
  const { rumor, copies } = await alice.wrap('at noon', { to: [bob.publicKey, carol.publicKey, bob.publicKey] });
  equal(copies.map((it) => it.receiver), [bob, carol, alice].map((it) => it.publicKey));
  equal([rumor.kind, rumor.content, rumor.pubkey], [14, 'at noon', alice.publicKey]);
  equal(rumor.tags, [['p', bob.publicKey], ['p', carol.publicKey]]);
  const authors = new Set();
  for (const [at, receiver] of [bob, carol, alice].entries()) {
    const { event } = copies[at];
    equal([event.kind, event.tags], [1059, [['p', receiver.publicKey]]]);
    await verifyEvent(event);
    authors.add(event.pubkey);
    for (const given of [event, JSON.stringify(event)]) {
      equal(await receiver.unwrap(given), { rumor, expiration: undefined, ephemeral: false });
    }
    const now = Date.now() / 1000;
    ok(event.created_at <= now && event.created_at > now - 2 * 86_400 - 60, `${event.created_at}`);
  }
  ok(authors.size === 3 && !authors.has(alice.publicKey), 'the author is not hidden');
  await fails(() => carol.unwrap(copies[0].event), 'authentication');
  await fails(() => bob.unwrap({ ...copies[0].event, created_at: 5 }), 'authentication');
  await fails(() => bob.unwrap(rumor), 'wrap');
  await fails(() => bob.unwrap('{'), 'wrap');
  await fails(async () => bob.unwrap(await alice.sign({ kind: 1 })), 'kind');
  await fails(() => alice.wrap('x', { to: [] }), 'argument');
  await fails(() => alice.wrap('x', { to: bob.publicKey }), 'argument');
  await fails(() => alice.wrap('x', { to: ['npub1wrong'] }), 'argument');
  await fails(() => alice.wrap('x', { to: [`${bob.publicKey}\n${carol.publicKey}`] }), 'argument');
  equal((await alice.wrap('x', { to: [` ${bob.publicKey}\n`] })).copies.length, 2);
  await fails(() => alice.wrap({ kind: 7, pubkey: bob.publicKey }, { to: [bob.publicKey] }), 'event');
  await fails(() => alice.wrap('x', { to: [bob.publicKey], expires: 5 }), 'argument');
});

test('no one wraps in the name of another', async () => {
  // A seal of Carol around a rumor of Alice, in a wrap as everyone makes it.
  const { rumor } = await alice.wrap('at noon', { to: [bob.publicKey] });
  const seal = await carol.sign({
    kind: 13, content: await carol.encrypt(bob.publicKey, JSON.stringify(rumor)),
  });
  const once = NostrKey.generate();
  const wrap = (event) => once.encrypt(bob.publicKey, JSON.stringify(event)).then((content) =>
    once.sign({ kind: 1059, tags: [['p', bob.publicKey]], content }));
  await fails(async () => bob.unwrap(await wrap(seal)), 'author');
  await fails(async () => bob.unwrap(await wrap({ ...seal, tags: [['p', bob.publicKey]] })), 'seal');
  await fails(async () => bob.unwrap(await wrap({ ...seal, created_at: 5 })), 'authentication');
  const own = await carol.sign({
    kind: 13, content: await carol.encrypt(bob.publicKey, JSON.stringify({ ...rumor, pubkey: carol.publicKey })),
  });
  await fails(async () => bob.unwrap(await wrap(own)), 'rumor');
});

test('wraps of other kinds, with an expiration', async () => {
  const template = { kind: 7, created_at: 1_700_000_000, tags: [['e', '1'.repeat(64)]], content: '+' };
  const options = { to: [bob.publicKey], ephemeral: true, expiresAfterMs: 3_600_000 };
  const { rumor, copies } = await alice.wrap(template, options);
  const opened = await bob.unwrap(copies[0].event);
  equal([opened.rumor, opened.ephemeral], [rumor, true]);
  equal({ ...template, pubkey: alice.publicKey, id: rumor.id }, {
    kind: rumor.kind, created_at: rumor.created_at, tags: rumor.tags, content: rumor.content,
    pubkey: rumor.pubkey, id: rumor.id,
  });
  const after = opened.expiration.getTime() - Date.now();
  ok(after > 3_500_000 && after < 3_600_000 + 2 * 86_400_000, `${after}`);
});

test('events are signed, and changed ones noticed', async () => {
  const event = await alice.sign({ kind: 1, content: 'é "\\\n\u0001', tags: [['t', 'a"b']] });
  await verifyEvent(event);
  await verifyEvent(JSON.stringify(event));
  for (const change of [{ content: 'x' }, { created_at: 1 }, { kind: 2 }, { pubkey: bob.publicKey }, { id: '0'.repeat(64) }]) {
    await fails(() => verifyEvent({ ...event, ...change }), 'authentication');
  }
  await fails(() => verifyEvent({ ...event, sig: 'x' }), 'event');
  await fails(() => verifyEvent(`{"kind":1,${JSON.stringify(event).slice(1)}`), 'event');
  await fails(() => verifyEvent(5), 'argument');
  await fails(() => alice.sign({ kind: 1, pubkey: bob.publicKey }), 'event');
  await fails(() => alice.sign({ kind: -1 }), 'event');
  await fails(() => alice.sign('text'), 'argument');
});

test('keys are kept under a passphrase, and secrets behind handles', async () => {
  const key = NostrKey.generate();
  // One `é` of two code points, and its normal form.
  const text = await key.lock('correct horse cafe\u0301');
  ok(text.startsWith('ncryptsec1'), text);
  const same = await NostrKey.unlock(` ${text}\n`, 'correct horse caf\u00e9');
  equal(same.publicKey, key.publicKey);
  await fails(() => NostrKey.unlock(text, 'wrong'), 'passphrase');
  await fails(() => NostrKey.unlock(text, 'wrong', { maxLogN: 15 }), 'limit');
  await fails(() => NostrKey.unlock(text.slice(1), 'wrong'), 'header');
  await fails(() => NostrKey.unlock(text), 'argument');
  await fails(() => NostrKey.unlock(text, 'x', { maxLogN: 23 }), 'argument');
  await fails(() => NostrKey.unlock(text, 'x'.repeat(5_000)), 'argument');
  await fails(() => key.lock('x', { logN: 15 }), 'argument');
  ok((await failure(() => new NostrKey())) instanceof TypeError);
  ok((await failure(() => JSON.stringify(key))) instanceof TypeError);
  equal([Object.keys(key), Object.getOwnPropertySymbols(key).length], [[], 0]);
  equal(Object.getOwnPropertyNames(NostrKey).sort(), ['generate', 'length', 'name', 'prototype', 'unlock']);
  const locking = key.lock('while it is disposed of');
  key.dispose();
  equal((await NostrKey.unlock(await locking, 'while it is disposed of')).publicKey, same.publicKey);
  await fails(() => key.publicKey, 'argument');
  await fails(() => key.sign({ kind: 1 }), 'argument');
  key.dispose();
});

test('public keys have two forms', async () => {
  const digits = '7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e';
  const npub = 'npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg';
  equal([publicKey(npub), publicKey(` ${digits}\n`)], [digits, digits]);
  equal(await alice.decrypt(digits, await alice.encrypt(npub, 'x')), 'x');
  for (const wrong of ['', npub.slice(1), digits.toUpperCase(), 'f'.repeat(64)]) {
    await fails(async () => publicKey(wrong), 'argument');
  }
});

test('a remote signer needs a URI, a key and a way', async () => {
  const uri = `bunker://${alice.publicKey}?relay=wss%3A%2F%2F127.0.0.1%3A1`;
  class Unreachable {
    constructor() {
      setTimeout(() => this.onclose(), 1);
    }

    close() {}
  }
  const options = { key: bob, WebSocket: Unreachable, timeoutMs: 100 };
  await fails(() => RemoteSigner.connect('bunker://', options), 'argument');
  await fails(() => RemoteSigner.connect(`nostrconnect${uri.slice(6)}&secret=x`, options), 'argument');
  await fails(() => RemoteSigner.connect(uri, { ...options, key: {} }), 'argument');
  await fails(() => RemoteSigner.connect(uri.replace('wss', 'ws').replace('127.0.0.1', '10.0.0.1'), options), 'argument');
  await fails(() => RemoteSigner.connect(uri, options), 'relay');
  await fails(() => RemoteSigner.connect(uri, { ...options, timeout: 5 }), 'argument');
  const invitation = RemoteSigner.invite({ ...options, relays: ['wss://127.0.0.1:1'], name: 'a b' });
  ok(invitation.uri.startsWith(`nostrconnect://${bob.publicKey}?relay=wss%3A%2F%2F127.0.0.1%3A1&secret=`));
  invitation.close();
  await fails(() => invitation.signer, 'closed');
  for (const relays of [[], undefined, ['no URL'], ['ws://10.0.0.1'], ['wss://127.0.0.1', 'wss://a b'], ['wss://a\nwss://b']]) {
    await fails(async () => RemoteSigner.invite({ ...options, relays }), 'argument');
  }
  if (!globalThis.WebSocket) await fails(() => RemoteSigner.connect(uri, { key: bob }), 'argument');
});

/** A class of WebSockets to a relay that answers the first message with `messages`. */
function relayOf(messages, open = new Set()) {
  return class {
    constructor(url) {
      if (url.includes('refused')) throw new SyntaxError('a URL of the test');
      open.add(this);
      setTimeout(() => this.onopen(), 1);
    }

    send() {
      for (const data of messages.splice(0)) this.onmessage({ data });
    }

    close() {
      open.delete(this);
    }
  };
}

test('no message of a relay throws', async () => {
  const uri = `bunker://${alice.publicKey}?relay=wss%3A%2F%2Frelay.example`;
  const noText = '{"toString":1,"valueOf":1}';
  const deep = `${'['.repeat(300_000)}${']'.repeat(300_000)}`;
  for (const message of [
    `["AUTH",${noText}]`, `["OK","x",false,${noText}]`, `["AUTH",${deep}]`, `["OK",${noText},false]`,
    '["AUTH","\\ud800"]', '["AUTH"]', '["OK"]', '[]', 'null', '5', '{', `["EVENT","endseal",${deep}]`,
    `["EVENT","endseal",{"pubkey":"${alice.publicKey}","x":${deep}}]`,
  ]) {
    const thrown = [];
    const Kind = relayOf([message]);
    class Watched extends Kind {
      send(text) {
        const { onmessage } = this;
        this.onmessage = (it) => {
          try {
            onmessage(it);
          } catch (error) {
            thrown.push(error);
          }
        };
        super.send(text);
      }
    }
    await fails(() => RemoteSigner.connect(uri, { key: bob, WebSocket: Watched, timeoutMs: 50 }), 'timeout');
    equal(thrown.map(String), [], message.slice(0, 50));
  }
});

test('a relay that cannot be connected to leaves no connection open', async () => {
  const open = new Set();
  const options = { key: bob, WebSocket: relayOf([], open), timeoutMs: 50 };
  const relays = ['wss://good.example', 'wss://refused.example'];
  const query = relays.map((it) => `relay=${encodeURIComponent(it)}`).join('&');
  await fails(() => RemoteSigner.connect(`bunker://${alice.publicKey}?${query}`, options), 'argument');
  await fails(async () => RemoteSigner.invite({ ...options, relays }), 'argument');
  await fails(async () => RemoteSigner.invite({ ...options, relays: ['wss://a.example/#x'] }), 'argument');
  equal(open.size, 0);
});

test('members that are undefined have their defaults', async () => {
  const event = await alice.sign({ kind: 1, created_at: undefined, tags: undefined, content: undefined });
  equal([event.tags, event.content], [[], '']);
});

test('a message is not wrapped with a time that its receiver refuses', async () => {
  for (const expiresAfterMs of [Infinity, 1e300, 1000 * 2 ** 53]) {
    await fails(() => alice.wrap('x', { to: [bob.publicKey], expiresAfterMs }), 'argument');
  }
  const { copies } = await alice.wrap('x', { to: [bob.publicKey], expiresAfterMs: 9e15 });
  equal((await bob.unwrap(copies[0].event)).expiration.getTime(), 8.64e15);
});
