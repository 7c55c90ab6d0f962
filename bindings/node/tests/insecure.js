// A page without a secure context, which has no `crypto.subtle`, and with a policy that forbids workers:
// WebAssembly does all of the work, on the thread of the page.

import { Identity, open, openStream, seal, sealStream } from 'endseal';

import { allOf, equal, failure, ok, sameBytes, test } from './check.js';

test('a page without Web Cryptography seals and opens', async () => {
  ok(!isSecureContext && crypto.subtle === undefined);
  const [alice, bob] = [Identity.generate(), Identity.generate()];
  const context = 'example.org/insecure';
  const content = new Uint8Array(5 << 20).fill(3);
  const options = { from: alice, to: [bob.public], context };
  const whole = await seal(content, options);
  const streamed = await allOf(new Blob([content]).stream().pipeThrough(sealStream(options)));
  equal(whole.length, streamed.length);
  for (const envelope of [whole, streamed]) {
    sameBytes((await open(envelope, { as: bob, context })).content, content);
    const { content: readable } = await openStream(new Blob([envelope]).stream(), { as: bob, context });
    sameBytes(await allOf(readable), content);
  }
});

test('a page that may not start workers locks and unlocks', async () => {
  const started = await failure(() => new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./node_modules/endseal/worker.js', import.meta.url), { type: 'module' });
    worker.onerror = reject;
    setTimeout(resolve, 2_000);
  }));
  ok(started.message !== 'it did not fail', 'a worker was started');
  const identity = Identity.generate();
  const file = await identity.lock('a passphrase');
  ok((await Identity.unlock(file, 'a passphrase')).public.equals(identity.public));
  equal((await failure(() => Identity.unlock(file, 'another one'))).code, 'passphrase');
});
