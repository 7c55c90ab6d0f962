// The service worker of service_worker.js. Import maps are not for workers: it names the file.

import { Identity, backend, init, open, openStream, seal, sealStream } from './node_modules/endseal/init.js';

import { allOf, equal, failure, ok, sameBytes } from './check.js';

const early = failure(() => Identity.generate());
const ready = init();

addEventListener('install', (event) => event.waitUntil(ready));
addEventListener('message', async ({ ports: [port] }) => {
  try {
    await run();
    port.postMessage('it works');
  } catch (error) {
    port.postMessage(String(error?.stack ?? error));
  }
});

async function run() {
  ok(globalThis.ServiceWorkerGlobalScope && globalThis.Worker === undefined);
  equal((await early).code, 'argument');
  await ready;
  equal(backend.kind, 'wasm');
  const identity = Identity.generate();
  const again = await Identity.unlock(await identity.lock('a passphrase'), 'a passphrase');
  ok(again.public.equals(identity.public));
  const context = 'example.org/service';
  const content = new Uint8Array(5 << 20).fill(3);
  const options = { from: identity, to: [again.public], context };
  const sealed = await allOf(new Blob([content]).stream().pipeThrough(sealStream(options)));
  for (const envelope of [await seal(content, options), sealed]) {
    sameBytes((await open(envelope, { as: again, context })).content, content);
    const { content: readable } = await openStream(new Blob([envelope]).stream(), { as: again, context });
    sameBytes(await allOf(readable), content);
  }
}
