// The benchmark peer in JavaScript: JSON lines over standard input and output, as
// docs/spec/bench-peer.md says. Node.js runs all subjects; Bun runs those of the published baseline.

import * as envelope from './envelope.mjs';
import { lines } from './lines.mjs';
import * as nostr from './nostr.mjs';
import { Unsupported } from './parameters.mjs';
import { RUNTIME } from './runtime.mjs';
import * as sessions from './sessions.mjs';

const PROTOCOL = 1;
const HANDLE_LIMIT = 256;
const ITERATION_LIMIT = 1_000_000;

/** A request that is not understood. */
class Misunderstood extends Error {}

const jobs = new Map();
let lastHandle = 0;

const operations = {
  hello({ protocol }) {
    if (protocol !== PROTOCOL) {
      throw new Misunderstood(`this peer speaks protocol ${PROTOCOL}`);
    }
    return {
      protocol: PROTOCOL,
      peer: RUNTIME.peer,
      runtime: RUNTIME.runtime,
      subjects: [...subjects].map(description),
    };
  },

  async prepare({ subject, case: name, params, inputs }) {
    if (typeof subject !== 'string' || typeof name !== 'string' || !isObject(params)) {
      throw new Misunderstood('subject, case and params are needed');
    }
    if (!isNumber(inputs) || !Object.values(params).every(isNumber)) {
      throw new Misunderstood('inputs and params must be numbers below 2^53');
    }
    if (!subjects.has(subject)) {
      throw new Unsupported(`there is no subject ${subject}`);
    }
    if (jobs.size >= HANDLE_LIMIT) {
      throw new Error(`${HANDLE_LIMIT} handles are in use`);
    }
    const job = await prepare(subjects.get(subject), name, params, inputs);
    lastHandle += 1;
    jobs.set(lastHandle, { ...job, next: 0 });
    return { handle: lastHandle };
  },

  check: ({ handle }) => job(handle).check(),

  run({ handle, iterations }) {
    const found = job(handle);
    if (!Number.isSafeInteger(iterations) || iterations < 1 || iterations > ITERATION_LIMIT) {
      throw new Misunderstood(`iterations must be from 1 to ${ITERATION_LIMIT}`);
    }
    return found.measure ? summed(found, iterations) : timed(found, iterations);
  },

  async release({ handle }) {
    const found = job(handle);
    jobs.delete(handle);
    await found.release?.();
    return {};
  },
};

function description([subject, { about, versions, settings, properties }]) {
  return {
    subject, about, versions: { ...versions, ...RUNTIME.versions }, settings, properties,
  };
}

/** A job: either a `step`, which is timed here, or `measure`, which times itself. */
async function prepare(subject, name, params, inputs) {
  if (name === 'decrypt_batch' && subject.sessions) {
    return sessions.prepare(subject, params, inputs);
  }
  if (subject.nostr) {
    return nostr.prepare(subject, name, params, inputs);
  }
  if (subject.setup) {
    return envelope.prepare(subject, name, params, inputs);
  }
  throw new Unsupported(`there is no case ${name}`);
}

function job(handle) {
  if (!jobs.has(handle)) {
    throw new Misunderstood('there is no such handle');
  }
  return jobs.get(handle);
}

/** Runs a job under the clock. CPU time is that of all threads, collector and compiler included. */
async function timed(found, iterations) {
  const results = new Array(iterations);
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  for (let i = 0; i < iterations; i += 1) {
    const result = found.step(found.next + i);
    results[i] = result instanceof Promise ? await result : result;
  }
  const wall = process.hrtime.bigint() - start;
  const { user, system } = process.cpuUsage(cpu);
  found.next += iterations;
  return { iterations: results.length, wall_ns: Number(wall), cpu_ns: (user + system) * 1000 };
}

/** Runs a job that leaves out what is not to be timed. */
async function summed(found, iterations) {
  let [wall, cpu] = [0, 0];
  for (let i = 0; i < iterations; i += 1) {
    const one = await found.measure(found.next);
    wall += one.wall;
    cpu += one.cpu;
    found.next += 1;
  }
  return { iterations, wall_ns: wall, cpu_ns: cpu };
}

/** The answer to one line; `null` is a line that was too long to keep. */
async function answer(line) {
  try {
    const request = parse(line);
    const { op } = request;
    if (typeof op !== 'string' || !Object.hasOwn(operations, op)) {
      throw new Misunderstood('there is no such op');
    }
    return { ok: true, ...(await operations[op](request)) };
  } catch (error) {
    return { ok: false, error: errorClass(error), message: oneLine(error) };
  }
}

function errorClass(error) {
  if (error instanceof Misunderstood) {
    return 'protocol';
  }
  return error instanceof Unsupported ? 'unsupported' : 'failed';
}

function parse(line) {
  if (line === null) {
    throw new Misunderstood('the line is longer than 1 MiB');
  }
  let request;
  try {
    request = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
  } catch {
    throw new Misunderstood('the line is not JSON');
  }
  if (!isObject(request)) {
    throw new Misunderstood('the request is not an object');
  }
  return request;
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value) {
  return Number.isSafeInteger(value) && value >= 0;
}

function oneLine(error, longest = 200) {
  const text = String(error?.message ?? error).replace(/\s+/g, ' ').trim().slice(0, longest);
  return text || 'an exception without a message';
}

/** Loads the subjects whose packages are installed; the others are named once, for people. */
async function load() {
  const found = new Map();
  for (const name of RUNTIME.subjects) {
    try {
      found.set(name + RUNTIME.suffix, (await import(`./subjects/${name}.mjs`)).default);
    } catch (error) {
      process.stderr.write(`subject ${name} is left out: ${oneLine(error, 500)}\n`);
    }
  }
  return found;
}

// Standard output belongs to the protocol, whatever a package has to say.
console.log = console.info = console.debug = console.error;
process.stdout.on('error', () => process.exit(1));
const subjects = await load();
for await (const line of lines(process.stdin)) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
process.stdout.write('', () => process.exit(0));
