// The vectors of docs/spec/envelope.md, in memory and as streams, by a build that makes identities from seeds.

import { Identity, backend, open, openMany, openStream } from 'endseal';

import { allOf, equal, ok, sameBytes, test, withoutWebCrypto } from './check.js';
import { read } from './files.js';

const hex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (it) => Number.parseInt(it, 16));
const json = async (name) => JSON.parse(new TextDecoder().decode(await read(name)));

async function everyVector() {
  let [opened, refused] = [0, 0];
  for (const name of await json('vectors.json')) {
    const vector = await json(`vectors/${name}.json`);
    const context = hex(vector.context);
    const kem = vector.mlkem768_seed ? hex(vector.mlkem768_seed) : new Uint8Array(64).fill(0xee);
    const as = Identity.fromSeeds(hex(vector.ed25519_seed), kem);
    const envelope = vector.recipe ? await read(`envelopes/${name}.es`) : hex(vector.envelope);
    const ways = [
      () => open(envelope, { as, context }),
      async () => {
        const [result] = await openMany([envelope], { as, context });
        if (result instanceof Error) throw result;
        return result;
      },
      async () => {
        const { content, ...facts } = await openStream(new Blob([envelope]).stream(), { as, context });
        return { ...facts, content: await allOf(content) };
      },
    ];
    for (const way of ways) {
      const result = await way().catch((error) => error.code ?? String(error));
      if (vector.expect !== 'ok') {
        equal(result, vector.expect, name);
        continue;
      }
      ok(typeof result === 'object', `${name}: ${result}`);
      sameBytes(result.sender.key, hex(vector.sender), name);
      sameBytes(result.messageId, hex(vector.message_id), name);
      equal([result.time?.getTime() ?? 0, result.suite], [vector.time, vector.suite], name);
      equal(result.content.length, vector.content_length, name);
      if (vector.content !== undefined) sameBytes(result.content, hex(vector.content), name);
    }
    as.dispose();
    if (vector.expect === 'ok') opened += 1;
    else refused += 1;
  }
  console.log(`${opened + refused} vectors: ${opened} opened, ${refused} refused`);
  equal([opened, refused], [28, 69]);
}

test('every vector', everyVector);

// The same code in all runtimes: one of them is enough.
if (backend.kind === 'wasm' && !globalThis.Bun && !globalThis.Deno && typeof document === 'undefined') {
  test('every vector without Web Cryptography', () => withoutWebCrypto(everyVector));
}
