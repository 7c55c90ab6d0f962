// Wire's CoreCrypto, in its native build: Proteus and MLS over an encrypted database, with
// transactions.
//
// In the clock: a transaction for each `per_commit` messages, and in it a call for each message,
// each awaited before the next, as in its book and in its own benchmark. The first message of each
// conversation also loads that conversation. Not in the clock: opening the database, `proteusInit`
// or `mlsInit`, and closing, which puts the pages of the journal into the file.
//
// Its database is SQLCipher with a write-ahead log; `synchronous` is left as it is, which is
// `FULL`: each commit is on the disk before it returns.

import { rmSync } from 'node:fs';
import { versions } from '../packages.mjs';
import * as workers from '../core-crypto/workers.mjs';

/** Number of messages that a fresh process decrypts before anything is timed. */
const WARM_UP = 1000;

await workers.probe();

export default {
  subject: 'core-crypto',
  about:
    'native build, in a process of its own, an awaited call for each message; SQLCipher; keeps ' +
    'the state of sessions and groups, not the contents; pairwise is Proteus, mls the default ' +
    'suite',
  versions: versions('@wireapp/core-crypto', '@ubjs/node', '@ubjs/core'),
  settings:
    'https://github.com/wireapp/core-crypto/blob/main/cc-book/src/concepts/mls/transactions.md',
  properties: [
    'confidential', 'authenticated', 'sender', 'insider', 'sender-hidden', 'recipients-hidden',
    'durable',
  ],
  sessions: { engines: ['pairwise', 'mls'], transactions: true, make },
};

async function make(params, inputs) {
  const { messages, per_commit: perCommit } = params;
  const folder = workers.folder();
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await workers.call(params.members * params.conversations, 'establish', folder, params);
    for (let n = 0; n < inputs; n += 1) {
      await workers.call(messages, 'seal', folder, n);
    }
  } catch (error) {
    remove();
    throw error;
  }
  return {
    async measure(n) {
      if (workers.isFresh()) {
        await workers.call(WARM_UP, 'iterate', folder, 0, perCommit, WARM_UP);
      }
      return workers.call(messages, 'iterate', folder, n % inputs, perCommit);
    },
    check: () => workers.call(2 * messages, 'examine', folder, perCommit),
    release: remove,
  };
}
