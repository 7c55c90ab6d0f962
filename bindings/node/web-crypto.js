// AES-GCM by Web Cryptography, which is several times as fast as in WebAssembly.

import { turn } from './pause.js';

/** Length of a nonce, which is before each chunk. */
const NONCE = 12;
/** Calls of a stream that are under way at a time. Each is for the chunks of a piece of content. */
const AHEAD = 3;

/** False in pages without a secure context. */
export const isThere = () => globalThis.crypto?.subtle !== undefined;

/** Encrypts or decrypts the chunks of one stream. */
export class Chunks {
  #key;
  #use;
  #length;

  /** Takes the bytes of the key and wipes them. `use` is `encrypt` or `decrypt`. */
  constructor(bytes, use, length) {
    this.#use = use;
    this.#length = NONCE + length;
    const key = crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, [use]);
    this.#key = key.finally(() => bytes.fill(0));
    this.#key.catch(() => {});
  }

  /** Results for records, which are nonces with chunks, in their order. Wipes the records. */
  async all(records) {
    const results = [];
    try {
      const key = await this.#key;
      for (let at = 0; at < records.length; at += this.#length) {
        const iv = records.subarray(at, at + NONCE);
        const chunk = records.subarray(at + NONCE, at + this.#length);
        results.push(crypto.subtle[this.#use]({ name: 'AES-GCM', iv }, key, chunk));
      }
      return (await Promise.all(results)).map((it) => new Uint8Array(it));
    } finally {
      await Promise.allSettled(results);
      records.fill(0);
    }
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
