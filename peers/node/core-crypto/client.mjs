// A CoreCrypto instance over a file, opened and closed.

import {
  closeSync, copyFileSync, existsSync, fsyncSync, openSync, rmSync, statSync,
} from 'node:fs';
import { types } from 'node:util';

// The package calls it, and Node has it since version 24. Without it, a transaction whose callback
// throws would end as if all were well.
Error.isError ??= types.isNativeError;

export const library = await import('@wireapp/core-crypto/native');

/** SQLite's files, each the name of the first with one of these at its end. */
const FILES = ['', '-wal', '-shm'];

/** Why a transaction was aborted on purpose. */
class GaveUp extends Error {}

/** Keeps the handle within, which holds the database open until the collector finds it. */
class Instance extends library.CoreCrypto {
  constructor(inner) {
    super(inner);
    this.inner = inner;
  }
}

/** An instance and its database; `path` is `null` for one that is in memory. */
export class Client {
  #path;
  #database;
  #core;

  static async open(path, key) {
    const { Database, DatabaseKey } = library;
    const client = new Client();
    client.#path = path;
    client.#database = await (path === null
      ? Database.inMemory()
      : Database.open(path, new DatabaseKey(key)));
    client.#core = Instance.new(client.#database);
    return client;
  }

  /**
   * Gives the database up, so that SQLite puts the pages of the journal into its file. Groups that
   * CoreCrypto keeps at hand hold it open; it forgets them when a transaction is aborted.
   */
  async close() {
    await this.abort(async () => {});
    this.#core.uniffiDestroy();
    this.#core.inner.uniffiDestroy();
    this.#database.uniffiDestroy();
    if (this.#path !== null && existsSync(`${this.#path}-wal`)) {
      throw new Error('something still holds the database open');
    }
  }

  transaction(callback) {
    return this.#core.transaction(callback);
  }

  /** A transaction that does something and is aborted. */
  async abort(callback) {
    const attempt = this.transaction(async (context) => {
      await callback(context);
      throw new GaveUp();
    });
    const error = await attempt.then(() => null, (thrown) => thrown);
    if (!(error instanceof GaveUp)) {
      throw error ?? new Error('a transaction whose callback threw was not aborted');
    }
  }

  findCredentials(filters) {
    return this.#core.findCredentials(filters);
  }

  /** Returns the total size of the client's files in bytes. */
  bytes() {
    const sizes = FILES.map((end) => statSync(this.#path + end, { throwIfNoEntry: false })?.size);
    return sizes.reduce((sum, size) => sum + (size ?? 0), 0);
  }
}

/** Puts a closed database in the place of another one, down to the disk. */
export function putBack(original, path) {
  FILES.forEach((end) => rmSync(path + end, { force: true }));
  copyFileSync(original, path);
  // Or else the first synchronisation under the clock would write it.
  const file = openSync(path, 'r+');
  fsyncSync(file);
  closeSync(file);
}
