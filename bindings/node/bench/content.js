// Times 16 MiB of content in this runtime: `content.js native` or `content.js wasm`.

import { Identity, backend, open, openStream, seal, sealStream } from 'endseal';

if (!process.argv.includes(backend.kind)) throw new Error(`this is ${backend.kind}`);
const runtime = globalThis.Bun ? `Bun ${Bun.version}` : `Node ${process.versions.node}`;
const BYTES = 16 << 20;
const PIECE = 64 << 10;
const ROUNDS = 15;

const identity = Identity.generate();
const context = 'example.org/bench';
const sealing = { from: identity, to: [identity.public], context };
const opening = { as: identity, context };
const content = new Uint8Array(BYTES);
for (let at = 0; at < BYTES; at += PIECE) crypto.getRandomValues(content.subarray(at, at + PIECE));
const envelope = await seal(content, sealing);

function source(bytes) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + PIECE));
      else controller.close();
      at += PIECE;
    },
  });
}

async function drain(readable) {
  const reader = readable.getReader();
  while (!(await reader.read()).done);
}

const cases = {
  seal: () => seal(content, sealing),
  open: () => open(envelope, opening),
  sealStream: () => drain(source(content).pipeThrough(sealStream(sealing))),
  openStream: async () => drain((await openStream(source(envelope), opening)).content),
};
for (const [name, work] of Object.entries(cases)) {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    await work();
    best = Math.min(best, performance.now() - start);
  }
  console.log(`${runtime}, ${backend.kind}, ${name} of 16 MiB: ${Math.round(BYTES / 1_000 / best)} MB/s`);
}
