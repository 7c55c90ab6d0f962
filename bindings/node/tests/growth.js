// Memory does not grow with the number of calls. In Node with --expose-gc, and in Bun.

import { Identity, backend, open, seal } from 'endseal';
import { NostrKey } from 'endseal/nostr';

import { ok, test } from './check.js';

/** Of a round: 100,000 calls may leave 5 MB, and short rounds have some noise. */
const LIMIT = 2 << 20;
// The native module has objects whose size the garbage collector does not know: more of them wait.
const CALLS = Number(process.env.ENDSEAL_CALLS ?? (backend.kind === 'native' ? 6_000 : 1_500));
const collect = globalThis.gc ?? (() => Bun.gc(true));

/** Memory of the process that is in use, after what has no use was freed. */
async function inUse() {
  for (let round = 0; round < 5; round += 1) {
    collect();
    await new Promise((next) => setTimeout(next, 20));
  }
  return process.memoryUsage().rss;
}

/** Least growth of three rounds: what an allocator keeps after its first rounds is no leak. */
async function grown(calls, work) {
  let [least, before] = [Infinity, 0];
  for (let round = 0; round < 4; round += 1) {
    for (let i = 0; i < calls; i += 1) await work();
    const after = await inUse();
    if (round > 0) least = Math.min(least, after - before);
    before = after;
  }
  return least;
}

const context = 'example.org/growth';

test('envelopes leave nothing', async () => {
  const [alice, bob] = [Identity.generate(), Identity.generate()];
  const text = String(bob.public);
  let count = 0;
  const growth = await grown(CALLS, async () => {
    const options = { from: alice, to: [count % 100 === 0 ? text : bob.public], context, suite: 'x25519' };
    const envelope = await seal('x', options);
    const opened = await open(envelope, { as: bob, context, from: [alice.public] });
    count += opened.content.length;
  });
  ok(count === 4 * CALLS);
  console.log(`${CALLS} envelopes: ${(growth / 1e6).toFixed(1)} MB`);
  ok(growth < LIMIT, `${growth} bytes`);
});

test('messages of Nostr leave nothing', async () => {
  const calls = CALLS / 10;
  const [alice, bob] = [NostrKey.generate(), NostrKey.generate()];
  let count = 0;
  const growth = await grown(calls, async () => {
    const { copies } = await alice.wrap('x', { to: [bob.publicKey] });
    count += (await bob.unwrap(copies[0].event)).rumor.content.length;
    NostrKey.generate().dispose();
  });
  ok(count === 4 * calls);
  console.log(`${calls} messages of Nostr, ${backend.kind}: ${(growth / 1e6).toFixed(1)} MB`);
  ok(growth < LIMIT, `${growth} bytes`);
});

test('identities that were forgotten are freed', async () => {
  let count = 0;
  const growth = await grown(CALLS, async () => {
    Identity.generate();
    count += 1;
    if (count % 100 > 0) return;
    collect();
    // Finalizers run between tasks.
    await new Promise((next) => setTimeout(next));
  });
  console.log(`${CALLS} identities, ${backend.kind}: ${(growth / 1e6).toFixed(1)} MB`);
  ok(growth < LIMIT, `${growth} bytes`);
});
