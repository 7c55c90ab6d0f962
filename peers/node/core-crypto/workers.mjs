// The process that calls CoreCrypto, and the next one.
//
// The runtime that binds CoreCrypto to Node keeps something of each call for ever: 3.7 KB
// (measured: 95 MB became 503 MB by 110,000 calls), a fifth of it in the heap of JavaScript, where
// the collector finds it again and again. So the calls are made in a process of their own, which is
// replaced in time; all that lasts is in files.

import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('worker.mjs', import.meta.url));
/** After that many messages a process is replaced: some 220 MB. */
const WORN_OUT = 60_000;

let root;
let worker = null;
let messages = 0;

/** A folder for one world. */
export function folder() {
  if (root === undefined) {
    root = mkdtempSync(join(tmpdir(), 'endseal-core-crypto-'));
    process.on('exit', () => {
      worker?.kill('SIGKILL');
      rmSync(root, { recursive: true, force: true });
    });
  }
  return mkdtempSync(join(root, 'world-'));
}

/** True if the next call goes to a process that has compiled nothing yet. */
export function isFresh() {
  return worker === null || messages >= WORN_OUT;
}

/** Checks that the library can be loaded. Throws the reason if it cannot. */
export async function probe() {
  try {
    await call(0, 'own', undefined);
  } finally {
    stop();
  }
}

/** Lets the process do something that takes so many messages. */
export async function call(cost, operation, ...given) {
  if (messages >= WORN_OUT) {
    stop();
  }
  if (worker === null) {
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'];
    worker = fork(PROGRAM, { serialization: 'advanced', stdio });
    messages = 0;
    await exchange('own', [root]);
    await exchange('load', []);
  }
  messages += cost;
  return exchange(operation, given);
}

/** Ends the process; the next call starts another one. */
export function stop() {
  worker?.kill();
  worker = null;
  messages = 0;
}

function exchange(operation, given) {
  const asked = worker;
  return new Promise((resolve, reject) => {
    const ended = (code, signal) => {
      worker = null;
      reject(new Error(`the process of CoreCrypto ended: ${signal ?? `code ${code}`}`));
    };
    asked.once('exit', ended);
    asked.once('message', ({ result, failure }) => {
      asked.off('exit', ended);
      if (failure === undefined) {
        resolve(result);
      } else {
        reject(new Error(failure));
      }
    });
    asked.send({ operation, given });
  });
}
