// Secrets of endseal/nostr leave the memory of WebAssembly with the last object that needs them.

import { equal, failure, ok, test } from './check.js';
import { add, begin, drawn, exportsOf, isWiped, known, left, lookInto, snapshot, watch } from './watch.js';

lookInto('key_generate');
const { NostrKey } = await import('endseal/nostr');
const { nostr } = await import('./node_modules/endseal/memory.js');
const { work } = await import('./node_modules/endseal/scrypt.js');

const passphrase = 'a passphrase of many words';
const text = 'a text that no one else may read';
const utf8 = new TextEncoder();
const long = Array.from({ length: 5_000 }, (_, at) => `line ${at} of a message;`).join(' ');

test('secrets are gone when the key was disposed of', async () => {
  const made = NostrKey.generate();
  const [secret] = drawn.slice(-1);
  const [own, locked] = [made.publicKey, await made.lock(passphrase)];
  made.dispose();
  begin();
  add('drawn for a key', secret);
  add('a key as digits', utf8.encode(Array.from(secret, (it) => it.toString(16).padStart(2, '0')).join('')));
  add('the passphrase', utf8.encode(passphrase));
  add('the text', utf8.encode(text));
  add('the long text', utf8.encode(long));
  equal(left(), {}, 'after generate and lock');

  watch(true);
  const key = await NostrKey.unlock(locked, passphrase);
  snapshot();
  ok(left()['drawn for a key'] > 0, 'the test finds no key that is there');
  ok(left()['a snapshot'] > 5, 'the test finds nothing of what is there');
  equal(key.publicKey, own);
  // What a worker does, in this memory.
  const { output: salt, number: logN } = nostr.call('key_unlock_input', [18], locked);
  const { stretched } = work({ salt, logN, password: passphrase });
  add('the stretched passphrase', stretched);
  await failure(() => NostrKey.unlock(locked, `${passphrase}.`));
  const peer = NostrKey.generate();
  const [other] = drawn.slice(-1);
  for (const content of [text, long]) {
    const payload = await key.encrypt(peer.publicKey, content);
    equal(await key.decrypt(peer.publicKey, payload), content);
    await failure(() => key.decrypt(peer.publicKey, `${payload.slice(0, -8)}AAAAAAA=`));
    const { copies } = await key.wrap(content, { to: [peer.publicKey] });
    equal((await peer.unwrap(copies[0].event)).rumor.content, content);
    await failure(() => key.unwrap(copies[0].event));
    await failure(() => peer.unwrap({ ...copies[0].event, created_at: 1 }));
    await key.sign({ kind: 14, content });
  }
  // A request and its answer, of which both sides are in this memory.
  const numbers = [0, 1].map(() => nostr.call('key_generate', []).number);
  const [app, signer] = numbers.map((it) => new TextDecoder().decode(nostr.call('key_public', [it]).output));
  const request = JSON.stringify({ id: '1', result: text, error: null });
  const { output: event } = nostr.call('key_request', [numbers[0], 64, 1], signer, request);
  const { output: response } = nostr.call('key_response', [numbers[1], 64], app, event);
  ok(new TextDecoder().decode(response).endsWith(text));
  const { output: invitation } = nostr.call('key_invitation', [numbers[0], 0, -1], 'wss://127.0.0.1\n');
  const secretOf = new TextDecoder().decode(invitation).slice(-32);
  add('the secret of an invitation', utf8.encode(secretOf));
  ok(/^[0-9a-f]{32}$/.test(secretOf), secretOf);
  await failure(() => nostr.call('key_accepted', [numbers[0], 32], secretOf, event));
  watch(false);
  for (const it of [key, peer]) it.dispose();
  for (const it of numbers) nostr.call('key_free', [it]);
  add('the key of the peer', other);
  for (const bytes of drawn) add('drawn', bytes);
  equal(left(), {}, 'after dispose');
  ok(known() > 10_000, `${known()}`);
});

test('a call that fails within the module wipes it, and was the last one', async () => {
  const key = NostrKey.generate();
  add('drawn', drawn.at(-1));
  ok(left().drawn > 0);
  // No room for a function's variables: it writes beyond the memory.
  exportsOf().__stack_pointer.value = 16;
  equal((await failure(() => NostrKey.generate())).code, 'stopped');
  ok(isWiped());
  equal((await failure(() => key.sign({ kind: 1 }))).code, 'stopped');
});
