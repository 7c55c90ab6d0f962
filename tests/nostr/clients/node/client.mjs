// A client of remote signing behind lines of JSON: `node client.mjs LIBRARY [VERSION]`. README.md, two
// folders up, describes the orders. A library is a module with:
//
//     connect({uri, key}) -> session          resume({uri, key}) -> session
//     uri({relays, key, name}) -> {uri, wait() -> session}
//     refusal(error) -> string or undefined   the signer's words, if the error is its answer
//
// and a session has what the library has of: bunker (its URL), getPublicKey(), ping(), signEvent(draft),
// encrypt(scheme, peer, text), decrypt(scheme, peer, text), switchRelays(), logout(), call(method, params), page()
// (the page that the signer names for the next request).

import { createInterface } from 'node:readline';
import WebSocket from 'ws';

// Standard output is for answers, whatever a library has to say.
console.log = console.info = console.debug = console.error;
// Node.js has a WebSocket of its own from version 22.
globalThis.WebSocket ??= WebSocket;

class Failure extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const library = await import(`./${process.argv[2]}.mjs`);
let session;
let waiting;
let begun;

/** Runs an order. The result is the signer's answer, as far as the library returns it. */
const orders = {
  async connect(order) {
    session = await library.connect(order);
  },
  async resume(order) {
    session = await library.resume(order);
  },
  async uri(order) {
    if (!library.uri) {
      throw new Failure('unsupported', 'no nostrconnect://');
    }
    waiting = await library.uri(order);
    return waiting.uri;
  },
  async wait() {
    session = await waiting.wait();
    return session.bunker;
  },
  get_public_key: () => has('getPublicKey')(),
  ping: () => has('ping')(),
  sign_event: ({ event }) => has('signEvent')(event),
  sign_many: ({ event, count }) =>
    Promise.all(Array.from({ length: count }, () => has('signEvent')(event))),
  encrypt: ({ scheme, peer, text }) => has('encrypt')(scheme, peer, text),
  decrypt: ({ scheme, peer, text }) => has('decrypt')(scheme, peer, text),
  switch_relays: () => has('switchRelays')(),
  logout: () => has('logout')(),
  call: ({ method, params }) => has('call')(method, params),
  /** Starts the order `what`, to which a person has to say something. */
  async begin({ what, ...order }) {
    begun = { result: orders[what](order), page: has('page')() };
    begun.result.catch(() => {});
  },
  page: () => begun.page,
  end: () => begun.result,
};

function has(name) {
  if (!session) {
    throw new Failure('protocol', 'not connected');
  }
  if (!session[name]) {
    throw new Failure('unsupported', `no ${name}`);
  }
  return session[name];
}

async function answer(line) {
  const order = JSON.parse(line);
  const start = performance.now();
  let timer;
  const late = new Promise((_, reject) => {
    const say = () => reject(new Failure('timeout', `nothing in ${order.seconds} s`));
    timer = setTimeout(say, order.seconds * 1000);
  });
  try {
    const work = (async () => orders[order.do](order))();
    const result = await Promise.race([work, late]);
    return { ok: true, result: result ?? null, ms: Math.round(performance.now() - start) };
  } catch (error) {
    const refused = error instanceof Failure ? undefined : library.refusal(error);
    const message = refused ?? String(error?.message ?? error);
    return { ok: false, error: refused === undefined ? error?.kind ?? 'failed' : 'refused', message };
  } finally {
    clearTimeout(timer);
  }
}

// Libraries drop promises; what belongs to an order fails or runs out of time there.
process.on('unhandledRejection', (error) => process.stderr.write(`unhandled: ${error?.stack ?? error}\n`));
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
process.exit(0);
