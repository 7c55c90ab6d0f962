// The suite `sessions`: its one case, made from what a subject can do. A subject has `sessions`:
//
//     engines                     which of `pairwise` and `mls` it has
//     transactions                whether it has any; without, `per_commit` can only be 1
//     make(params, inputs) -> job     `engine` of `params` is the name of one
//
// A job has `measure(n)`, which gives what one iteration with the backlog `n` took; `check()`; and
// `release()`. `iterate` and `examine` are the first two for a world, which a subject makes:
//
//     backlog(n) -> [message]     what lies before the receiver
//     contents(n) -> [content]    what was sent
//     open() -> receiver          the receiver as it was before the first message
//
//     decrypt(messages, perCommit) -> [content]     throws if one is refused
//     decryptEach(messages, perCommit) -> [content or null]
//     abort(messages)             decrypts them and gives up; if there are transactions
//     stateBytes()                of its files; if there are any
//     close()

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Unsupported, within } from './parameters.mjs';

const CONTENT_BYTES = 100;
/** The bit that `tamper` changes is in the last byte but so many. */
const TAMPERED_FROM_END = 16;

/** Meaning of the numbers in the protocol. */
const ENGINES = ['pairwise', 'mls'];
const NAMES =
  ['messages', 'conversations', 'per_commit', 'engine', 'threads', 'members', 'inputs'];
const LIMITS = {
  messages: 100_000,
  conversations: 1000,
  per_commit: 100_000,
  engine: ENGINES.length,
  threads: 1,
  members: 1000,
  inputs: 4096,
};
const MESSAGE_LIMIT = 1 << 20;
/** Largest number of members of all groups. Their keys and leaves take time and memory. */
const LEAF_LIMIT = 5000;

/** Makes a case of the suite. */
export async function prepare({ sessions }, params, inputs) {
  within({ ...params, inputs }, NAMES, LIMITS);
  const { messages, conversations, per_commit: perCommit, members } = params;
  const engine = ENGINES[params.engine - 1];
  if (!sessions.engines.includes(engine)) {
    throw new Unsupported(`it has not the engine ${engine}`);
  }
  if (members < 2 || (engine === 'pairwise' && members !== 2)) {
    throw new Unsupported('members must be 2, or with mls at least 2');
  }
  if (perCommit > messages) {
    throw new Unsupported('per_commit must not be more than messages');
  }
  if (perCommit !== 1 && !sessions.transactions) {
    throw new Unsupported('it has no transactions: per_commit must be 1');
  }
  if (messages * inputs > MESSAGE_LIMIT || conversations * members > LEAF_LIMIT) {
    throw new Unsupported('these are too many messages or members');
  }
  return sessions.make({ ...params, engine }, inputs);
}

/** The messages of one backlog. */
export function someContents(messages) {
  return Array.from({ length: messages }, () => randomBytes(CONTENT_BYTES));
}

/** One iteration with the first `limit` messages of a backlog: what the decryption took. */
export async function iterate(world, n, perCommit, limit = Infinity) {
  const messages = world.backlog(n).slice(0, limit);
  const receiver = await world.open();
  try {
    const cpu = process.cpuUsage();
    const start = process.hrtime.bigint();
    const contents = await receiver.decrypt(messages, perCommit);
    const wall = process.hrtime.bigint() - start;
    const { user, system } = process.cpuUsage(cpu);
    if (!contents.every(({ length }) => length === CONTENT_BYTES)) {
      throw new Error('a message came out with another length');
    }
    return { wall: Number(wall), cpu: (user + system) * 1000 };
  } finally {
    await receiver.close();
  }
}

/** The answer to `check`, from the first backlog. */
export async function examine(world, perCommit) {
  const messages = world.backlog(0);
  const contents = world.contents(0);
  const { same, figures } = await plainly(world, messages, contents, perCommit);
  return {
    round_trip: same,
    tamper_refused: await refusesOne(world, messages, contents),
    sealed_bytes: messages[0].length,
    figures: { ...figures, ...(await recovered(world, messages, contents)) },
  };
}

async function plainly(world, messages, contents, perCommit) {
  const receiver = await world.open();
  try {
    const before = storageBytes();
    const opened = await receiver.decrypt(messages, perCommit);
    const after = storageBytes();
    const figures = {};
    if (before !== null) {
      figures.bytes_written = [after - before];
    }
    if (receiver.stateBytes) {
      figures.state_bytes = [receiver.stateBytes()];
    }
    return { same: contents.every((content, i) => equal(opened[i], content)), figures };
  } finally {
    await receiver.close();
  }
}

/**
 * True if only the message in the middle is refused when one bit of it is changed. All are in one
 * transaction where there are any, because `check` has no more time than a run.
 */
async function refusesOne(world, messages, contents) {
  const middle = Math.floor(messages.length / 2);
  const changed = Uint8Array.from(messages[middle]);
  changed[changed.length - 1 - TAMPERED_FROM_END] ^= 1;
  const receiver = await world.open();
  try {
    const opened = await receiver.decryptEach(messages.with(middle, changed), messages.length);
    return contents.every((content, i) =>
      i === middle ? opened[i] === null : equal(opened[i], content));
  } finally {
    await receiver.close();
  }
}

/** Which part of the first two messages comes out after their transaction was aborted. */
async function recovered(world, messages, contents) {
  const receiver = await world.open();
  try {
    if (!receiver.abort) {
      return {};
    }
    const first = messages.slice(0, 2);
    await receiver.abort(first);
    const opened = await receiver.decryptEach(first, first.length);
    const share = opened.filter((content, i) => equal(content, contents[i])).length / first.length;
    return { recovered_percent: [Math.round(100 * share)] };
  } finally {
    await receiver.close();
  }
}

/** Bytes that this process has written to storage, if the kernel counts them. */
function storageBytes() {
  try {
    return Number(readFileSync('/proc/self/io', 'latin1').match(/^write_bytes: (\d+)$/m)[1]);
  } catch {
    return null;
  }
}

function equal(opened, content) {
  return opened !== null && opened !== undefined && Buffer.from(opened).equals(content);
}
