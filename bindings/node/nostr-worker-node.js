// The worker of endseal/nostr in Node and Bun.

import { parentPort } from 'node:worker_threads';

import { nostr } from './memory.js';
import { work } from './scrypt.js';

parentPort.once('message', ({ module, ...message }) => {
  nostr.start(new WebAssembly.Instance(module, nostr.imports));
  const answer = work(message);
  parentPort.postMessage(answer, answer.stretched ? [answer.stretched.buffer] : []);
});
