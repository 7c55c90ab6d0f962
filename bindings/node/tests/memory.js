// Secrets leave the memory of WebAssembly when the last object that needs them is disposed of.

import { allOf, equal, failure, ok, test } from './check.js';
import {
  add, begin, drawn, exportsOf, isWiped as isMemoryWiped, known, left, lookInto, snapshot, watch,
} from './watch.js';

lookInto('identity_generate');

/** Keys that Web Cryptography has, and keys and plaintexts that went to it or came from it. */
const [contentKeys, given] = [[], []];
const { subtle } = crypto;
for (const name of ['importKey', 'encrypt', 'decrypt']) {
  const call = subtle[name];
  subtle[name] = async (...args) => {
    const bytes = name === 'importKey' ? args[1] : args[2];
    if (name !== 'decrypt') given.push(bytes);
    if (name === 'importKey') {
      contentKeys.push(bytes.slice());
      equal(args[3], false, 'the key can be exported');
    }
    const result = await call.apply(subtle, args);
    if (name === 'decrypt') given.push(new Uint8Array(result));
    return result;
  };
}

const { work } = await import('./node_modules/endseal/argon2id.js');
const { Identity, PublicIdentity, Recipients, open, openMany, openStream, seal, sealStream } = await import('endseal');

const context = 'example.org/memory';
const passphrase = 'a passphrase of many words';
const short = 'a short content that no one else may read';
const utf8 = new TextEncoder();
const long = utf8.encode(Array.from({ length: 30_000 }, (_, at) => `line ${at} of content;`).join(' '));

test('secrets are gone when the identity was disposed of', async () => {
  const made = [Identity.generate(), Identity.generate()];
  const keys = [...drawn];
  const [file, texts] = [await made[0].lock(passphrase), made.map((it) => String(it.public))];
  // Public keys stay, as long as JavaScript has objects for them.
  const publics = texts.map((text) => PublicIdentity.parse(text));
  const to = new Recipients(publics);
  made.forEach((it) => it.dispose());
  begin();

  for (const bytes of keys) {
    add('drawn for a key', bytes);
    // FIPS 180-4: the first half is the scalar, with bits set and cleared (RFC 8032, 5.1.5).
    const expanded = new Uint8Array(await crypto.subtle.digest('SHA-512', bytes));
    add('an expanded key', expanded);
    expanded[0] &= 248;
    expanded[31] = (expanded[31] & 127) | 64;
    add('a scalar', expanded.subarray(0, 32));
  }
  add('the passphrase', utf8.encode(passphrase));
  add('the short content', utf8.encode(short));
  add('the long content', long);
  equal(left(), {}, 'after generate and lock');

  watch(true);
  const identity = await Identity.unlock(file, passphrase);
  snapshot();
  ok(left()['drawn for a key'] > 0, 'the test finds no key that is there');
  ok(left()['a snapshot'] > 100, 'the test finds nothing of what is there');
  // What a worker does, in this memory.
  const once = utf8.encode('ABCDEFGHIJKLMNOPabcdefghijklmnop');
  const parts = { passphrase, normalised: passphrase };
  const inner = work({ ...parts, file: utf8.encode(file), once: once.slice(), isLock: false });
  const outer = work({ ...parts, file: inner.file.slice(), once: once.slice(), isLock: true });
  const again = await Identity.unlock(outer.file, passphrase);
  ok(again.public.equals(identity.public));
  again.dispose();
  add('the passphrase of one time', once);
  const [from, as] = [identity, identity];
  const envelopes = [];
  for (const content of [short, long]) {
    envelopes.push(await seal(content, { from, to, context }));
    await open(envelopes.at(-1), { as, context, from: publics });
    await openMany([envelopes.at(-1)], { as, context });
  }
  // Chunks that were decrypted beside one that is not authentic, or before the end was missing.
  const [damaged, cut] = [[200_000, envelopes[1].length - 1], envelopes[1].subarray(0, 200_000)];
  const changed = damaged.map((at) => envelopes[1].map((byte, index) => byte ^ (index === at)));
  for (const wrong of [...changed, cut]) await failure(() => open(wrong, { as, context }));
  await failure(() => Identity.unlock(file, `${passphrase}.`));
  const sealing = sealStream({ from, to, context });
  const writer = sealing.writable.getWriter();
  const sealed = allOf(sealing.readable);
  for (let at = 0; at < long.length; at += 70_000) {
    await writer.write(long.subarray(at, at + 70_000));
    snapshot();
  }
  await writer.close();
  const opened = await openStream(new Blob([await sealed]).stream(), { as, context });
  equal((await allOf(opened.content)).length, long.length);
  ok(left()['the long content'] === undefined, 'content of a stream that has ended');
  const block = new Uint8Array(5 << 20);
  for (let at = 0; at < block.length; at += long.length) block.set(long.subarray(0, block.length - at), at);
  const blocks = await seal(block, { from, to, context });
  const partly = await openStream(new Blob([blocks]).stream(), { as, context });
  ok(left()['the long content'] > 0, 'a stream holds its last block');
  await partly.content.cancel();
  identity.dispose();
  watch(false);
  for (const bytes of drawn) add('drawn', bytes);
  ok(contentKeys.length >= 7, `${contentKeys.length} streams`);
  for (const bytes of contentKeys) add('a key of chunks', bytes);
  equal(left(), {}, 'after dispose');
  // Chunks that were ahead of one that is not authentic are wiped when they have been decrypted.
  await new Promise((next) => setTimeout(next, 100));
  const isWiped = (bytes) => bytes.every((byte) => byte === 0);
  equal(given.filter((bytes) => !isWiped(bytes)).length, 0, 'given to Web Cryptography');
  ok(known() > 100_000, `${known()}`);
});

test('a call that fails within the module wipes it, and was the last one', async () => {
  const identity = Identity.generate();
  add('drawn', drawn.at(-1));
  ok(left().drawn > 0);
  // No room for a function's variables: it writes beyond the memory.
  exportsOf().__stack_pointer.value = 16;
  equal((await failure(() => Identity.generate())).code, 'stopped');
  ok(isMemoryWiped());
  ok((await failure(() => seal('', { from: identity, to: [], context }))) instanceof Error);
  equal((await failure(() => identity.lock('x'))).code, 'stopped');
});
