// The cases of the suite `envelope`, made from what a subject can do:
//
//     setup(members) -> group
//     seal(group, content) -> envelope              a string or bytes, or a promise of them
//     open(group, index, delivered) -> content      throws if it must not be read
//     tamper(delivered) -> delivered                with one bit of the sealed content changed
//
// and, where a subject needs them: `sealInput`, a faster `seal` for what `open` is given;
// `readerState(group)`, what readers have before the next envelope; and
// `deliver(group, index, envelope, state)`, what one of them receives of it.

import { randomBytes } from 'node:crypto';

const LIMITS = { members: 100_000, bytes: 1 << 26, count: 100_000, inputs: 4096 };
const CONTENT_LIMIT = 1 << 30;

const CASES = {
  seal: { params: ['members', 'bytes'], make: sealing },
  seal_many: { params: ['members', 'bytes', 'count'], make: sealing },
  open: { params: ['members', 'bytes'], make: opening },
  open_many: { params: ['members', 'bytes', 'count'], make: opening },
};

/** A request that this subject cannot serve. */
export class Unsupported extends Error {}

/** Makes keys and inputs of a case: `step(n)` is the work of one iteration, `check()` proves it. */
export async function prepare(subject, name, params, inputs) {
  const found = Object.hasOwn(CASES, name) ? CASES[name] : null;
  if (!found) {
    throw new Unsupported(`there is no case ${name}`);
  }
  const given = { ...params, inputs };
  for (const field of [...found.params, 'inputs']) {
    const least = field === 'bytes' ? 0 : 1;
    const value = given[field];
    if (!Number.isSafeInteger(value) || value < least || value > LIMITS[field]) {
      throw new Unsupported(`${field} must be from ${least} to ${LIMITS[field]}`);
    }
  }
  if (params.bytes * inputs > CONTENT_LIMIT) {
    throw new Unsupported('this is too much content');
  }
  const group = await subject.setup(params.members);
  const contents = Array.from({ length: inputs }, () => randomBytes(params.bytes));
  return found.make(subject, group, contents, params);
}

function sealing(subject, group, contents, { members, count }) {
  const one = (n) => subject.seal(group, contents[n % contents.length]);
  return {
    step: count === undefined ? one : many(one, count),
    async check() {
      const input = await sent(subject, subject.seal, group, contents[0]);
      return proof(subject, group, members, contents[0], input);
    },
  };
}

async function opening(subject, group, contents, { members, count }) {
  const index = members >> 1;
  const inputs = [];
  for (const content of contents) {
    inputs.push(await sent(subject, subject.sealInput ?? subject.seal, group, content));
  }
  const delivered = inputs.map((input) => receive(subject, group, index, input));
  const one = (n) => subject.open(group, index, delivered[n % delivered.length]);
  return {
    step: count === undefined ? one : many(one, count),
    check: () => proof(subject, group, members, contents[0], inputs[0]),
  };
}

/** One iteration that is `count` times `one`, each with the next input. */
function many(one, count) {
  return async (n) => {
    const results = new Array(count);
    for (let i = 0; i < count; i += 1) {
      const result = one(n * count + i);
      results[i] = result instanceof Promise ? await result : result;
    }
    return results;
  };
}

async function sent(subject, seal, group, content) {
  const state = await subject.readerState?.(group);
  return { envelope: await seal(group, content), state };
}

function receive({ deliver }, group, index, { envelope, state }) {
  return deliver ? deliver(group, index, envelope, state) : envelope;
}

async function proof(subject, group, members, content, input) {
  let roundTrip = true;
  for (const index of new Set([0, members >> 1, members - 1])) {
    const opened = await subject.open(group, index, receive(subject, group, index, input));
    roundTrip &&= Buffer.compare(opened, content) === 0;
  }
  const index = members >> 1;
  const changed = subject.tamper(receive(subject, group, index, input));
  return {
    round_trip: roundTrip,
    tamper_refused: subject.properties.includes('authenticated')
      ? await refuses(() => subject.open(group, index, changed))
      : null,
    sealed_bytes: Buffer.byteLength(input.envelope),
  };
}

async function refuses(attempt) {
  try {
    await attempt();
    return false;
  } catch {
    return true;
  }
}
