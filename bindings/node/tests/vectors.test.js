// The vectors of docs/spec/envelope.md, in memory and as streams, by a build that makes identities from seeds.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const { Identity, open, openMany, openStream } = await import(process.env.ENDSEAL_PACKAGE ?? 'endseal');
const folder = new URL('../../../vectors/envelope/', import.meta.url);
const hex = (digits) => new Uint8Array(Buffer.from(digits, 'hex'));
const digits = (bytes) => Buffer.from(bytes).toString('hex');

test('every vector', { skip: !Identity.fromSeeds }, async () => {
  let [opened, refused] = [0, 0];
  for (const name of readdirSync(folder).sort()) {
    const vector = JSON.parse(readFileSync(new URL(name, folder)));
    const context = hex(vector.context);
    const kem = vector.mlkem768_seed ? hex(vector.mlkem768_seed) : new Uint8Array(64).fill(0xee);
    const as = Identity.fromSeeds(hex(vector.ed25519_seed), kem);
    const cooked = () => new Uint8Array(readFileSync(`${process.env.ENDSEAL_ENVELOPES}/${name.replace(/json$/, 'es')}`));
    const envelope = vector.recipe ? cooked() : hex(vector.envelope);
    const ways = [
      () => open(envelope, { as, context }),
      async () => {
        const [result] = await openMany([envelope], { as, context });
        if (result instanceof Error) throw result;
        return result;
      },
      async () => {
        const { content, ...facts } = await openStream(new Blob([envelope]).stream(), { as, context });
        const pieces = [];
        for await (const piece of content) pieces.push(piece);
        return { ...facts, content: Buffer.concat(pieces) };
      },
    ];
    for (const way of ways) {
      const result = await way().catch((error) => error.code);
      if (vector.expect !== 'ok') {
        assert.equal(result, vector.expect, name);
        continue;
      }
      assert.equal(digits(result.sender.key), vector.sender, name);
      assert.equal(digits(result.messageId), vector.message_id, name);
      assert.equal(result.time?.getTime() ?? 0, vector.time, name);
      assert.equal(result.suite, vector.suite, name);
      assert.equal(result.content.length, vector.content_length, name);
      if (vector.content !== undefined) assert.equal(digits(result.content), vector.content, name);
    }
    if (vector.expect === 'ok') opened += 1;
    else refused += 1;
  }
  console.log(`${opened + refused} vectors: ${opened} opened, ${refused} refused`);
  assert.deepEqual([opened, refused], [28, 69]);
});
