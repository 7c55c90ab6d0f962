// Programs at running nodes of the program ENDSEAL_PROGRAM, and the bot of README, over a hub.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const { Node, NodeError } = await import(process.env.ENDSEAL_NODE_API ?? 'endseal/node');

const program = process.env.ENDSEAL_PROGRAM;
const prefix = 'you wrote: ';
const folder = mkdtempSync(join(tmpdir(), 'endseal-'));
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(ENDSEAL_|XDG_|HOME)/.test(name)),
);
const names = ['alice', 'bob', 'bot', 'unknown'];
const identities = {};
const nodes = {};
const children = new Set();

const home = (name) => join(folder, name);
const at = (name, waitMs = 0) => new Node({ home: home(name), waitMs });
async function all(rows) {
  const found = [];
  for await (const row of rows) found.push(row);
  return found;
}

async function run(name, ...words) {
  const options = { env: environment, timeout: 120_000 };
  const running = promisify(execFile)(program, ['--home', home(name), ...words], options);
  running.child.stdin.end();
  return (await running).stdout;
}

function start(command, words, options = {}) {
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'ignore'], env: environment, ...options });
  children.add(child);
  return child;
}

/** Starts a program that prints a line when it runs. */
async function serve(...words) {
  const child = start(program, words);
  const [line] = await once(createInterface(child.stdout), 'line');
  return [child, line];
}

async function up(...people) {
  for (const name of people) [nodes[name]] = await serve('--home', home(name), 'up');
}

async function stop(child, signal) {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
  children.delete(child);
}

function bot() {
  const readme = readFileSync(process.env.ENDSEAL_README ?? 'README.md', 'utf8');
  const [, source] = /^```js bot\n([^]*?)^```/m.exec(readme);
  const from = process.env.ENDSEAL_NODE_API ?? 'endseal/node';
  const words = ['--input-type=module', '-e', source.replaceAll("'endseal/node'", `'${from}'`)];
  return start(process.execPath, words, { env: { ...environment, ENDSEAL_HOME: home('bot') } });
}

async function until(condition, what) {
  const end = Date.now() + 60_000;
  while (!(await condition())) {
    assert(Date.now() < end, `${what} did not happen in 60 s`);
    await sleep(50);
  }
}

async function answers(name, other = identities.bot) {
  const node = at(name);
  const unread = (await all(node.unread())).filter((row) => row.conversation === other);
  await node.mark_read(unread.map((row) => row.number));
  const texts = (await all(node.history(other))).map((row) => row.text);
  return texts.filter((text) => text?.startsWith(prefix));
}

/** Waits for the answers to these texts, in any order. Fails if one comes twice. */
async function answered(name, texts, other) {
  await until(async () => (await answers(name, other)).length >= texts.length, `answers to ${texts}`);
  // A second answer would come right behind.
  await sleep(500);
  assert.deepEqual((await answers(name, other)).sort(), texts.map((text) => prefix + text).sort());
}

const fails = (call, code) =>
  assert.rejects(Promise.resolve().then(call), (error) => {
    assert(error instanceof NodeError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  });

before(async () => {
  const [, line] = await serve('--home', home('owner'), 'hub', 'serve', '--listen', '127.0.0.1:0');
  const invite = join(folder, 'all.invite');
  const uses = ['--uses', String(names.length), '-o', invite];
  await run('owner', 'hub', 'invite', 'all', '--at', line.split('@')[1], ...uses);
  const long = {};
  for (const name of names) {
    await run(name, 'init', '--no-passphrase');
    await run(name, 'join', invite);
    identities[name] = (await run(name, 'id', 'show')).trim();
    long[name] = (await run(name, 'id', 'show', '--pq')).trim();
  }
  for (const name of names) {
    for (const other of names.filter((it) => it !== name && it !== 'unknown')) {
      await run(name, 'contacts', 'add', '--local', other, long[other]);
    }
  }
});

after(async () => {
  await Promise.all([...children].map((child) => stop(child, 'SIGKILL')));
  rmSync(folder, { recursive: true });
});

test('the bot answers each text once', async () => {
  const alice = at('alice');
  await fails(() => alice.status(), 'not_running');
  await up(...names);
  const said = ['', 'é 🔑\n\x1b[2J', 'x'.repeat(60_000)];
  let running = bot();
  const first = await alice.say(identities.bot, said);
  assert.equal(first.texts, 3);
  await answered('alice', said);
  const history = await all(alice.history(identities.bot));
  assert.deepEqual(history.filter((row) => row.is_sent).map((row) => row.number), first.numbers);

  // Killed at any time, and two of it.
  for (let number = 0; number < 6; number += 1) {
    said.push(`text ${number}`);
    await alice.say(identities.bot, said.at(-1));
    await stop(running, 'SIGKILL');
    running = bot();
    await sleep(40 * (number % 4));
  }
  const second = bot();
  const many = Array.from({ length: 20 }, (_, number) => `to two ${number}`);
  said.push(...many);
  await alice.say(identities.bot, many);
  await answered('alice', said);
  await stop(second, 'SIGKILL');

  // The node ends in the middle; the bot goes on by itself.
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    const more = Array.from({ length: 30 }, (_, number) => `${signal} ${number}`);
    said.push(...more);
    await alice.say(identities.bot, more);
    const some = async () => (await answers('alice')).some((text) => text.includes(signal));
    await until(some, 'an answer');
    await stop(nodes.bot, signal);
    await sleep(500);
    await up('bot');
    await answered('alice', said);
  }

  // Texts of an unknown sender wait until they are accepted.
  await at('unknown').say(identities.bot, 'who are you?');
  const bots = at('bot');
  await until(async () => (await all(bots.requests())).length === 1, 'the request');
  assert.deepEqual(await answers('unknown'), []);
  const [request] = await all(bots.requests());
  assert.equal(request.from, identities.unknown);
  await bots.accept(request.from);
  await answered('unknown', ['who are you?']);

  // In a group, the answer goes to the group. A group that the bot has left does not stop it.
  await run('alice', 'group', 'create', 'team', 'bob', 'bot');
  const [{ team, is_member: isMember }] = await alice.teams();
  assert(isMember);
  await alice.say(team, 'hello all');
  await answered('bob', ['hello all'], team);
  assert.equal((await all(bots.members(team))).length, 3);
  await bots.leave(team);
  await fails(() => bots.say(team, 'no'), 'not_member');
  said.push('still there?');
  await alice.say(identities.bot, said.at(-1));
  await answered('alice', said);
  assert.equal(running.exitCode, null);
  await stop(running, 'SIGKILL');
});

test('requests that the node refuses have its codes', async () => {
  const alice = at('alice');
  const { identity, connected } = await alice.status();
  assert.deepEqual([identity, connected], [identities.alice, true]);
  assert.equal((await alice.version()).api, 1);
  assert.equal((await alice.sync(3)).problems, 0);
  await fails(() => alice.say(identities.bob, ['short', 'x'.repeat(800_001)]), 'too_long');
  await fails(() => alice.say(identities.bob, 'x'.repeat(9 << 20)), 'line_too_long');
  await fails(() => alice.say(identities.bob, 'half of a pair: \ud83d'), 'invalid_params');
  await fails(() => alice.block(identities.alice), 'own');
  await fails(() => alice.unsend(identities.bob, [1]), 'unknown_text');
  await fails(() => alice.call('shout'), 'unknown_method');
  await assert.rejects(alice.call('shout'), /older program/);
  await alice.mute(identities.bob, true);
  await alice.verify(identities.bob, true);
  const [rules] = await alice.persons();
  assert.deepEqual([rules.person, rules.is_muted, rules.is_verified], [identities.bob, true, true]);
  assert.equal(await alice.block(identities.bob), 0);
  await fails(() => alice.say(identities.bob, 'no'), 'blocked');
  assert.equal(await alice.unblock(identities.bob), 0);
});

test('all methods of the specification are there', () => {
  const file = process.env.ENDSEAL_NODE_API_SPEC;
  const table = readFileSync(file, 'utf8').split('## Requests')[1].split('An empty result')[0];
  const methods = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  assert.equal(methods.length, 32);
  const own = Object.getOwnPropertyNames(Node.prototype);
  assert.deepEqual(own.sort(), [...methods, 'call', 'constructor'].sort());
});

// ----------------------------------------------------- peers that break off, or answer anything

const version = '{"jsonrpc":"2.0","id":0,"result":{"api":1,"program":"endseal 9"}}\n';
const done = '{"jsonrpc":"2.0","id":1,"result":{"texts":1,"numbers":[7]}}\n';
const follows = '{"jsonrpc":"2.0","id":1,"result":{}}\n';
const stopping = '{"code":-32000,"message":"the process is stopping","data":{"kind":"stopping"}}';
const ended = `{"jsonrpc":"2.0","method":"ended","params":${stopping}}\n`;
const text = (number) =>
  `${JSON.stringify({ jsonrpc: '2.0', method: 'unread', params: { rows: [{ number }], next: number } })}\n`;

/** Runs `work` with a peer at the socket. Each connection gets the answer of its turn to the request
 * after `version`, and is closed then. The socket is removed after the last turn. */
async function withPeer(turns, work, greeting = version) {
  const place = mkdtempSync(join(tmpdir(), 'endseal-'));
  const requests = [];
  const open = new Set();
  const server = createServer(async (socket) => {
    open.add(socket);
    socket.on('error', () => {});
    const answer = turns.shift();
    if (turns.length === 0) server.close();
    let count = 0;
    for await (const line of createInterface(socket)) {
      count += 1;
      if (count === 1) {
        socket.write(greeting);
        continue;
      }
      requests.push(JSON.parse(line));
      if (answer !== undefined) socket.end(answer);
    }
    socket.destroy();
  });
  server.listen(join(place, 'node.sock'));
  await once(server, 'listening');
  try {
    await work(place, requests);
  } finally {
    for (const socket of open) socket.destroy();
    server.close();
    rmSync(place, { recursive: true });
  }
}

for (const [answer, code] of [
  ['', 'connection_lost'],
  [done.slice(0, -1), 'connection_lost'],
  [done.slice(0, 20), 'connection_lost'],
  [done.replace('"id":1', '"id":2'), 'unexpected'],
  ['[]\n', 'unexpected'],
  [Buffer.from('{\xff}\n', 'latin1'), 'unexpected'],
  ['{"jsonrpc":"2.0","id":1}\n', 'unexpected'],
  ['{"jsonrpc":"2.0","id":1,"error":"no"}\n', 'unexpected'],
  ['{"id":1,"error":{"code":1,"message":"new","data":{"kind":"new","x":1}}}\n', 'new'],
  ['{"id":null,"error":{"code":1,"message":"b","data":{"kind":"busy"}}}\n', 'busy'],
  ['x'.repeat(8 << 20), 'unexpected'],
]) {
  test(`an answer that is none fails: ${String(answer).slice(0, 30).trim()}`, () =>
    withPeer([answer], async (place, requests) => {
      await fails(() => new Node({ home: place }).say('endseal1', 'text'), code);
      assert.deepEqual(requests.map((it) => it.method), ['say']);
    }));
}

test('no node, another version and silence are clear', async () => {
  const place = mkdtempSync(join(tmpdir(), 'endseal-'));
  await fails(() => new Node({ home: place }).status(), 'not_running');
  await fails(() => new Node({ home: place }).follow().next(), 'not_running');
  await fails(() => new Node({ home: join(place, 'x'.repeat(120)) }).status(), 'not_running');
  mkdirSync(join(place, 'node.sock'));
  await assert.rejects(new Node({ home: place }).status(), NodeError);
  rmSync(place, { recursive: true });
  const other = version.replace('"api":1', '"api":2');
  await withPeer([done], async (home, requests) => {
    await fails(() => new Node({ home }).say('endseal1', 'text'), 'version');
    assert.deepEqual(requests, []);
  }, other);
  await withPeer([undefined], async (home) => {
    await fails(() => new Node({ home, timeoutMs: 300 }).status(), 'timed_out');
  });
});

test('only what may be repeated is repeated', async () => {
  await withPeer([done.slice(0, 20), done], async (home, requests) => {
    await fails(() => new Node({ home, waitMs: 20_000 }).say('endseal1', 'text'), 'connection_lost');
    assert.equal(requests.length, 1);
  });
  const refused = `{"jsonrpc":"2.0","id":1,"error":${stopping}}\n`;
  for (const [method, words, lost] of [
    ['say', ['endseal1', 'text'], refused],
    ['answer', [3, 'text'], done.slice(0, 20)],
    ['answer', [3, 'text'], ''],
  ]) {
    await withPeer([lost, done], async (home, requests) => {
      const said = await new Node({ home, waitMs: 20_000 })[method](...words);
      assert.deepEqual(said, { texts: 1, numbers: [7] });
      assert.deepEqual(requests[0], requests[1]);
    });
  }
});

test('follow goes on, or fails', async () => {
  for (const end of [ended, text(2).slice(0, 20), '']) {
    const code = end === ended ? 'stopping' : 'connection_lost';
    await withPeer([follows + text(1) + end], async (home) => {
      const numbers = [];
      await fails(async () => {
        for await (const { number } of new Node({ home }).follow()) numbers.push(number);
      }, code);
      assert.deepEqual(numbers, [1]);
    });
    // Text 1 was not marked as read: the node sends it again.
    const turns = [follows + text(1) + end, follows + text(1) + text(2)];
    await withPeer(turns, async (home, requests) => {
      const numbers = [];
      for await (const { number } of new Node({ home, waitMs: 20_000 }).follow()) {
        numbers.push(number);
        if (numbers.length === 3) break;
      }
      assert.deepEqual(numbers, [1, 1, 2]);
      assert.deepEqual(requests.map((it) => it.params), [{ after: 0 }, { after: 0 }]);
    });
  }
  // A hub that refuses the device.
  const refused = ended.replace('"kind":"stopping"', '"kind":"hub","is_transient":false');
  await withPeer([follows + text(1) + refused], async (home) => {
    const followed = new Node({ home, waitMs: 20_000 }).follow();
    await followed.next();
    await fails(() => followed.next(), 'hub');
  });
  await withPeer([follows + text(1)], async (home) => {
    const followed = new Node({ home, waitMs: 500 }).follow();
    await followed.next();
    await fails(() => followed.next(), 'not_running');
  });
  for (const line of ['{"method":"other","params":{"rows":[]}}\n', '{}\n', done]) {
    await withPeer([follows + text(1) + line], async (home) => {
      const followed = new Node({ home }).follow();
      await followed.next();
      await fails(() => followed.next(), 'unexpected');
    });
  }
});

test('follow ends when it is aborted before the node has answered', async () => {
  await withPeer([undefined], async (home) => {
    const aborted = { signal: AbortSignal.timeout(300) };
    const begin = performance.now();
    await assert.rejects(new Node({ home }).follow(0, aborted).next(), { name: 'TimeoutError' });
    assert(performance.now() - begin < 30_000);
  }, '');
});

test('times have their limits', async () => {
  for (const options of [{ timeoutMs: 0 }, { timeoutMs: NaN }, { timeoutMs: -1 }, { waitMs: NaN }]) {
    assert.throws(() => new Node(options), TypeError);
  }
  await withPeer([done], async (home) => {
    const said = await new Node({ home, timeoutMs: 30 * 24 * 3_600_000 }).say('endseal1', 'text');
    assert.deepEqual(said.numbers, [7]);
  });
});

test('follow ends when it is aborted', async () => {
  const stopped = new AbortController();
  const followed = at('bob').follow(0, { signal: stopped.signal });
  setTimeout(() => stopped.abort(new Error('enough')), 300);
  await assert.rejects(async () => {
    for await (const row of followed) assert(row.number > 0);
  }, /enough/);
});
