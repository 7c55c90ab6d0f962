// AES-GCM by Web Cryptography, which is several times as fast as in WebAssembly.

import { turn } from './pause.js';

/** Calls of a stream that are under way at a time. Each is for the chunks of a piece of content. */
const AHEAD = 3;

/** False in pages without a secure context. */
export const isThere = () => globalThis.crypto?.subtle !== undefined;

/** Encrypts or decrypts the chunks of one stream. */
export class Chunks {
  #key;
  #use;

  /** Takes the bytes of the key and wipes them. `use` is `encrypt` or `decrypt`. */
  constructor(bytes, use) {
    this.#use = use;
    const key = crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, [use]);
    this.#key = key.finally(() => bytes.fill(0));
    this.#key.catch(() => {});
  }

  /** Results for chunks with their nonces, in their order. */
  async all(chunks) {
    const key = await this.#key;
    const results = chunks.map(([iv, chunk]) =>
      crypto.subtle[this.#use]({ name: 'AES-GCM', iv }, key, chunk));
    const settled = await Promise.allSettled(results);
    const done = settled.filter((it) => it.status === 'fulfilled').map((it) => new Uint8Array(it.value));
    if (done.length === settled.length) return done;
    wipe(done);
    throw settled.find((it) => it.status === 'rejected').reason;
  }
}

/** Wipes bytes, if there are any. */
export const wipe = (pieces = []) => pieces.forEach((it) => it.fill(0));

/**
 * Calls `begin` for each piece before the results of the pieces in front of it are there, and `end`
 * for each result in order. Returns the pieces that `end` returns.
 */
export async function ahead(pieces, begin, end) {
  const [running, results] = [[], []];
  let count = 0;
  const next = async () => results.push(...end(await running.shift()));
  try {
    for (const piece of pieces) {
      running.push(begin(piece));
      running.at(-1).catch(() => {});
      if (running.length > AHEAD) await next();
      count += 1;
      await turn(count);
    }
    while (running.length > 0) await next();
    return results;
  } catch (error) {
    wipe(results);
    for (const it of running) it.then(wipe, () => {});
    throw error;
  }
}
