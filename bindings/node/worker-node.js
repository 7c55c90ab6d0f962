// The worker of Node and Bun.

import { parentPort } from 'node:worker_threads';

import { work } from './argon2id.js';
import { imports, start } from './memory.js';

parentPort.once('message', ({ module, ...message }) => {
  start(new WebAssembly.Instance(module, imports));
  const answer = work(message);
  parentPort.postMessage(answer, answer.file ? [answer.file.buffer] : []);
});
