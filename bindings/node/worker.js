// The worker of browsers and Deno.

import { work } from './argon2id.js';
import { imports, start } from './memory.js';

addEventListener('message', ({ data: { module, ...message } }) => {
  start(new WebAssembly.Instance(module, imports));
  const answer = work(message);
  postMessage(answer, answer.file ? [answer.file.buffer] : []);
}, { once: true });
