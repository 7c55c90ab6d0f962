// Argon2id in a worker: it takes half a second, in which the thread of the caller has other tasks.

import { call, utf8Length } from './memory.js';
import { ask } from './worker-of.js';

/** Opens an identity file. Returns the number of the identity. */
export function unlock(file, entered, normalised) {
  const lengths = [file.length, lengthOf(entered)];
  return call('identity_unlock', lengths, file, entered, normalised).number;
}

/** Returns an identity file, as bytes. */
export function lock(identity, entered, normalised, isCheap) {
  return call('identity_lock', [identity, lengthOf(entered), isCheap], entered, normalised).output;
}

const lengthOf = (text) => (typeof text === 'string' ? utf8Length(text) : text.length);

/**
 * A passphrase that cannot be guessed, under which an identity goes from one thread to another. It
 * is bytes, which can be wiped.
 */
function oneTime() {
  const bytes = new Uint8Array(32);
  try {
    crypto.getRandomValues(bytes);
  } catch {
    throw new Error('random: the source of randomness failed');
  }
  // Of each byte 5 bits count: 160 of them.
  return bytes.map((byte) => 0x41 + (byte & 15) + ((byte & 16) << 1));
}

/** What a worker does for a message. It wipes what was sent to it. */
export function work({ file, passphrase, normalised, once, isLock }) {
  let identity;
  try {
    if (isLock) {
      identity = unlock(file, once, once);
      return { file: lock(identity, passphrase, normalised, false) };
    }
    identity = unlock(file, passphrase, normalised);
    return { file: lock(identity, once, once, true) };
  } catch (error) {
    return { error: error.message };
  } finally {
    if (identity) call('identity_free', [identity]);
    file.fill(0);
    once.fill(0);
  }
}

/** Opens an identity file with a passphrase. Returns the number of the identity. */
export async function unlockInWorker(start, given, passphrase) {
  const file = new Uint8Array(given);
  const normalised = passphrase.normalize('NFKC');
  const once = oneTime();
  try {
    const answer = start && (await ask(start, { file, passphrase, normalised, once, isLock: false }));
    if (!answer) return unlock(file, passphrase, normalised);
    if (answer.error) throw new Error(answer.error);
    try {
      return unlock(answer.file, once, once);
    } finally {
      answer.file.fill(0);
    }
  } finally {
    once.fill(0);
  }
}

/** Returns an identity file. The identity may be disposed of meanwhile. */
export async function lockInWorker(start, identity, passphrase) {
  const normalised = passphrase.normalize('NFKC');
  if (!start) return lock(identity, passphrase, normalised, false);
  const once = oneTime();
  const file = lock(identity, once, once, true);
  const own = call('identity_share', [identity]).number;
  try {
    const answer = await ask(start, { file, passphrase, normalised, once, isLock: true });
    if (!answer) return lock(own, passphrase, normalised, false);
    if (answer.error) throw new Error(answer.error);
    return answer.file;
  } finally {
    call('identity_free', [own]);
    file.fill(0);
    once.fill(0);
  }
}
