// A service worker, in which a module cannot await.

import { equal, test } from './check.js';

test('a service worker seals, opens, locks and unlocks', async () => {
  const url = new URL('./service_worker_script.js', import.meta.url);
  const registration = await navigator.serviceWorker.register(url, { type: 'module' });
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise((next) => {
    port1.onmessage = ({ data }) => next(data);
  });
  (registration.installing ?? registration.active).postMessage('run', [port2]);
  equal(await answer, 'it works');
  await registration.unregister();
});
