// The package with the native module, or with that of WebAssembly.

import { Identity, Recipients, backend, open, seal } from 'endseal';

if (!process.argv.includes(backend.kind)) throw new Error(`this is ${backend.kind}`);

export async function cases(members, bytes) {
  const all = Array.from({ length: members }, () => Identity.generate());
  const to = new Recipients(all.map((it) => it.public));
  const content = crypto.getRandomValues(new Uint8Array(bytes));
  const [from, as] = [all[0], all[members >> 1]];
  const context = 'example.org/bench';
  const classical = { from, to, context, suite: 'x25519' };
  const hybrid = { from, to, context };
  const envelopes = [await seal(content, classical), await seal(content, hybrid)];
  return {
    seal: () => seal(content, classical),
    open: () => open(envelopes[0], { as, context }),
    'seal, post-quantum': () => seal(content, hybrid),
    'open, post-quantum': () => open(envelopes[1], { as, context }),
  };
}
