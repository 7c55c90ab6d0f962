// scrypt in a worker: it takes 64 MiB and half a second, in which the thread of the caller has other
// tasks.

import { nostr } from './memory.js';
import { ask } from './worker-of.js';

const stretch = (salt, logN, password) =>
  nostr.call('stretch', [logN, salt.length], salt, password).output;

/** What a worker does for a message. */
export function work({ salt, logN, password }) {
  try {
    return { stretched: stretch(salt, logN, password) };
  } catch (error) {
    return { error: error.message };
  }
}

/** Stretches a password in NFKC. Returns 32 bytes, which the caller wipes. */
export async function stretchInWorker(start, salt, logN, password) {
  const answer = start && (await ask(start, { salt, logN, password }));
  if (!answer) return stretch(salt, logN, password);
  if (answer.error) throw new Error(answer.error);
  return answer.stretched;
}
