// A page without a secure context, which has no `crypto.subtle`: WebAssembly encrypts.

import { Identity, open, openStream, seal, sealStream } from 'endseal';

import { allOf, equal, ok, sameBytes, test } from './check.js';

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
