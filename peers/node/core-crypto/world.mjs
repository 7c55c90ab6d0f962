// Two clients of CoreCrypto and backlogs between them, in a folder: any process can go on with it.
//
// There are `sender` and `receiver`, the closed databases before the first message; `world`, what
// both agreed upon; and for each backlog a file. Every backlog begins with the same state of both.

import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { someContents } from '../sessions.mjs';
import { Client, putBack } from './client.mjs';
import * as mls from './mls.mjs';
import * as pairwise from './pairwise.mjs';

const ENGINES = { pairwise, mls };

export class World {
  #folder;
  #facts;

  constructor(folder) {
    this.#folder = folder;
    this.#facts = deserialize(readFileSync(join(folder, 'world')));
  }

  /** Fills an empty folder with all but the backlogs. */
  static async establish(folder, params) {
    const key = randomBytes(32);
    const sender = await Client.open(join(folder, 'sender'), key);
    const receiver = await Client.open(join(folder, 'receiver'), key);
    const agreed = await ENGINES[params.engine].establish(sender, receiver, params);
    await sender.close();
    await receiver.close();
    writeFileSync(join(folder, 'world'), serialize({ key, params, agreed }));
  }

  /** Seals the backlog `n`. */
  async seal(n) {
    const contents = someContents(this.#facts.params.messages);
    const { client, seal, which } = await this.#client('sender');
    const messages = [];
    await client.transaction(async (context) => {
      for (const [i, content] of contents.entries()) {
        messages.push(await seal(context, which(i), content));
      }
    });
    await client.close();
    writeFileSync(this.#backlog(n), serialize({ contents, messages }));
  }

  backlog(n) {
    return deserialize(readFileSync(this.#backlog(n))).messages;
  }

  contents(n) {
    return deserialize(readFileSync(this.#backlog(n))).contents;
  }

  async open() {
    return new Receiver(await this.#client('receiver'));
  }

  async #client(role) {
    const { key, params, agreed } = this.#facts;
    const path = join(this.#folder, `${role}-now`);
    putBack(join(this.#folder, role), path);
    const client = await Client.open(path, key);
    const { seal, open } = await ENGINES[params.engine].join(client, agreed, role);
    return { client, seal, open, which: (i) => i % params.conversations };
  }

  #backlog(n) {
    return join(this.#folder, `backlog-${n}`);
  }
}

class Receiver {
  #client;
  #open;
  #which;

  constructor({ client, open, which }) {
    [this.#client, this.#open, this.#which] = [client, open, which];
  }

  async decrypt(messages, perCommit) {
    const contents = [];
    for (let start = 0; start < messages.length; start += perCommit) {
      const end = Math.min(start + perCommit, messages.length);
      await this.#client.transaction(async (context) => {
        for (let i = start; i < end; i += 1) {
          contents.push(await this.#open(context, this.#which(i), messages[i]));
        }
      });
    }
    return contents;
  }

  async decryptEach(messages, perCommit) {
    const contents = [];
    for (let start = 0; start < messages.length; start += perCommit) {
      const end = Math.min(start + perCommit, messages.length);
      await this.#client.transaction(async (context) => {
        for (let i = start; i < end; i += 1) {
          const opened = this.#open(context, this.#which(i), messages[i]);
          contents.push(await opened.catch(() => null));
        }
      });
    }
    return contents;
  }

  abort(messages) {
    return this.#client.abort(async (context) => {
      for (const [i, message] of messages.entries()) {
        await this.#open(context, this.#which(i), message);
      }
    });
  }

  stateBytes() {
    return this.#client.bytes();
  }

  close() {
    return this.#client.close();
  }
}
