// The worker of endseal/nostr in browsers and Deno.

import { nostr } from './memory.js';
import { work } from './scrypt.js';

addEventListener('message', ({ data: { module, ...message } }) => {
  nostr.start(new WebAssembly.Instance(module, nostr.imports));
  const answer = work(message);
  postMessage(answer, answer.stretched ? [answer.stretched.buffer] : []);
}, { once: true });
