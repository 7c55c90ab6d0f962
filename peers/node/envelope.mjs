// The cases of the suite `envelope`, made from what a subject can do:
//
//     setup(members) -> group
//     seal(group, content) -> envelope              or a promise of it
//     open(group, index, delivered) -> content      throws if it must not be read
//     tamper(delivered) -> delivered                with one bit of the sealed content changed
//     steps(group, index, content) -> {name: ns}    what each step took, if it tells (`breakdown`)
//
// and, where a subject needs them: `content(bytes)`, if it seals text; `size(envelope)`, if that is
// neither bytes nor a string; `cases` and `limits`, if it has not all; `sealInput`, a faster `seal`
// for what `open` is given; `readerState(group)`, what readers have before the next envelope;
// `deliver(group, index, envelope, state)`, what one of them receives of it; and `sealsInTurn`, if
// two envelopes must not be sealed at once.

import { randomBytes } from 'node:crypto';
import { Unsupported, within } from './parameters.mjs';

const LIMITS = { members: 100_000, bytes: 1 << 26, count: 100_000, inputs: 4096 };
const CONTENT_LIMIT = 1 << 30;

const CASES = {
  seal: { params: ['members', 'bytes'], make: sealing },
  seal_many: { params: ['members', 'bytes', 'count'], make: sealing },
  open: { params: ['members', 'bytes'], make: opening },
  breakdown: { params: ['members', 'bytes'], make: breakdown },
  open_many: { params: ['members', 'bytes', 'count'], make: opening },
};

/** Makes keys and inputs of a case: `step(n)` is the work of one iteration, `check()` proves it. */
export async function prepare(subject, name, params, inputs) {
  const found = Object.hasOwn(CASES, name) ? CASES[name] : null;
  const lacks = name === 'breakdown' ? !subject.steps : subject.cases?.includes(name) === false;
  if (!found || lacks) {
    throw new Unsupported(`there is no case ${name}`);
  }
  within({ ...params, inputs }, [...found.params, 'inputs'], { ...LIMITS, ...subject.limits });
  const { members, bytes, count = 1 } = params;
  // `inputs` sets of `count` different messages: the set n begins at the message n.
  const messages = inputs + count - 1;
  if (bytes * messages > CONTENT_LIMIT) {
    throw new Unsupported('this is too much content');
  }
  const group = await subject.setup(members);
  const content = subject.content ?? randomBytes;
  const contents = Array.from({ length: messages }, () => content(bytes));
  const job = await found.make(subject, group, contents, params);
  return { step: (n) => job.step(n % inputs), check: job.check };
}

function sealing(subject, group, contents, { members, count }) {
  const one = (n) => subject.seal(group, contents[n]);
  return {
    step: count === undefined ? one : many(one, count, subject.sealsInTurn),
    async check() {
      const input = await sent(subject, subject.seal, group, contents[0]);
      return proof(subject, group, members, contents[0], input);
    },
  };
}

async function opening(subject, group, contents, { members, count }) {
  const index = middle(members);
  const inputs = [];
  for (const content of contents) {
    inputs.push(await sent(subject, subject.sealInput ?? subject.seal, group, content));
  }
  const delivered = inputs.map((input) => receive(subject, group, index, input));
  const one = (n) => subject.open(group, index, delivered[n]);
  return {
    step: count === undefined ? one : many(one, count, false),
    check: () => proof(subject, group, members, contents[0], inputs[0]),
  };
}

/** Number of timed runs of each step, and of runs before them in which the runtime compiles. */
const STEP_ROUNDS = 15;
const STEP_WARM_UP = 10;

/** Untimed by the harness: `check` tells what each step took. */
function breakdown(subject, group, contents, { members }) {
  const sealed = sealing(subject, group, contents, { members });
  return {
    step() {
      throw new Unsupported('its steps are reported by check');
    },
    async check() {
      const figures = {};
      for (let round = 0; round < STEP_WARM_UP + STEP_ROUNDS; round += 1) {
        const content = contents[round % contents.length];
        const found = await subject.steps(group, middle(members), content);
        for (const [name, ns] of Object.entries(round < STEP_WARM_UP ? {} : found)) {
          (figures[name] ??= []).push(Math.round(ns));
        }
      }
      return { ...(await sealed.check()), figures };
    },
  };
}

/** One iteration that is `one` for a set of `count` inputs: all at once, or each after the last. */
function many(one, count, inTurn) {
  return async (n) => {
    const results = [];
    for (let i = n; i < n + count; i += 1) {
      const result = one(i);
      results.push(inTurn ? await result : result);
    }
    return Promise.all(results);
  };
}

function middle(members) {
  return Math.floor(members / 2);
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
  for (const index of new Set([0, middle(members), members - 1])) {
    const opened = await subject.open(group, index, receive(subject, group, index, input));
    roundTrip &&= Buffer.from(opened).equals(Buffer.from(content));
  }
  const index = middle(members);
  const changed = subject.tamper(receive(subject, group, index, input));
  const size = subject.size ?? Buffer.byteLength;
  return {
    round_trip: roundTrip,
    tamper_refused: subject.properties.includes('authenticated')
      ? await refuses(() => subject.open(group, index, changed))
      : null,
    sealed_bytes: size(input.envelope),
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
