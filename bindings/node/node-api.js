// Client of a running node, for Node and Bun. `node-api.d.ts` has the documentation.

import { createConnection } from 'node:net';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const API = 1;
/** Length of a line in bytes, with its end. */
const MAX_LINE = 8 << 20;
/** Longest path of a socket in bytes. */
const MAX_PATH = 107;
/** Rows of a page of the history. */
const ROWS = 256;
/** Longest time of a timer in milliseconds: 24 days. */
const LONGEST = 2 ** 31 - 1;
/** Milliseconds between two attempts to reach a node that is away. */
const PAUSE = 250;
/** Errors after which nothing was done, and that end by themselves. */
const AWAY = new Set(['not_running', 'busy', 'stopping']);
/** Requests that have the same effect and result if they are done twice, or say that they were. */
const REPEATABLE = new Set([
  'version', 'status', 'answer', 'unread', 'mark_read', 'history', 'unsent', 'requests', 'accept', 'mute',
  'verify', 'persons', 'teams', 'members', 'departures', 'problems', 'forget_problems', 'devices',
  'name_device', 'device_changes', 'mark_changes_seen', 'follow',
]);
/** Errors that depend on the parameters. */
const REFUSALS = new Set([
  'line_too_long', 'invalid_params', 'too_long', 'own', 'blocked', 'not_member', 'owner', 'no_group',
  'unknown_text', 'encrypted', 'left',
]);

export class NodeError extends Error {
  constructor(code, message, data = {}) {
    super(message);
    this.name = 'NodeError';
    this.code = code;
    this.data = data;
  }

  get isRefusal() {
    return REFUSALS.has(this.code);
  }
}

export class Node {
  #path;
  #waitMs;
  #timeoutMs;

  constructor(options = {}) {
    // Another name would choose the default directory, and another identity with it.
    const names = ['home', 'waitMs', 'timeoutMs'];
    const unknown = Object.keys(Object(options)).find((it) => !names.includes(it));
    if (typeof options !== 'object' || unknown !== undefined) {
      throw new TypeError(`options of a node are ${names.join(', ')}`);
    }
    const { home, waitMs = 0, timeoutMs = 120_000 } = options;
    if (!(waitMs >= 0) || !(timeoutMs > 0)) {
      throw new TypeError('waitMs is a number from 0, and timeoutMs one above 0');
    }
    this.#path = join(String(home ?? defaultHome()), 'node.sock');
    this.#waitMs = waitMs;
    this.#timeoutMs = timeoutMs;
  }

  async call(method, params = {}) {
    const line = requestLine(1, method, params);
    const timeoutMs = method === 'sync' ? Infinity : this.#timeoutMs;
    const until = performance.now() + this.#waitMs;
    for (;;) {
      let connection;
      try {
        connection = await Connection.open(this.#path, this.#timeoutMs);
        return await connection.ask(line, 1, timeoutMs);
      } catch (error) {
        if (!mayRepeat(error, method) || performance.now() >= until) throw error;
      } finally {
        connection?.close();
      }
      await sleep(PAUSE);
    }
  }

  async *follow(after = 0, { signal } = {}) {
    const line = requestLine(1, 'follow', { after });
    let until = performance.now() + this.#waitMs;
    for (;;) {
      let connection;
      signal?.throwIfAborted();
      try {
        connection = await Connection.open(this.#path, this.#timeoutMs, signal);
        await connection.ask(line, 1, this.#timeoutMs);
        until = undefined;
        for (;;) {
          signal?.throwIfAborted();
          for (const text of followed(await connection.receive(Infinity))) {
            yield text;
            signal?.throwIfAborted();
          }
        }
      } catch (error) {
        signal?.throwIfAborted();
        until ??= performance.now() + this.#waitMs;
        if (!mayRepeat(error, 'follow') || performance.now() >= until) throw error;
      } finally {
        connection?.close();
      }
      await sleep(PAUSE);
    }
  }

  async *#pages(method, after, params = {}) {
    for (let at = after; at !== null; ) {
      const page = await this.call(method, { ...params, after: at });
      yield* rowsOf(page);
      at = page.next ?? null;
    }
  }

  async #rows(method) {
    return rowsOf(await this.call(method));
  }

  async #done(method, params) {
    await this.call(method, params);
  }

  async #count(method, params) {
    return (await this.call(method, params)).texts;
  }

  version() {
    return this.call('version');
  }

  status() {
    return this.call('status');
  }

  say(to, texts) {
    return this.call('say', { to, texts: textsOf(texts) });
  }

  answer(number, texts = []) {
    return this.call('answer', { number, texts: textsOf(texts) });
  }

  sync(attempts = 1) {
    return this.call('sync', { attempts });
  }

  unread(after = 0) {
    return this.#pages('unread', after);
  }

  mark_read(numbers) {
    return this.#done('mark_read', { numbers: [...numbers] });
  }

  history(conversation, after = 0) {
    return this.#pages('history', after, { with: conversation, limit: ROWS });
  }

  unsent(after = 0) {
    return this.#pages('unsent', after);
  }

  unsend(to, numbers) {
    return this.#count('unsend', { to, numbers: [...numbers] });
  }

  unsend_all(to) {
    return this.#count('unsend_all', { to });
  }

  delete_texts(conversation, numbers) {
    return this.#count('delete_texts', { with: conversation, numbers: [...numbers] });
  }

  delete_texts_before(conversation, time) {
    return this.#count('delete_texts_before', { with: conversation, time });
  }

  requests(after = 0) {
    return this.#pages('requests', after);
  }

  accept(person) {
    return this.#done('accept', { person });
  }

  block(person) {
    return this.#count('block', { person });
  }

  unblock(person) {
    return this.#count('unblock', { person });
  }

  mute(person, is_muted) {
    return this.#done('mute', { person, is_muted });
  }

  verify(person, is_verified) {
    return this.#done('verify', { person, is_verified });
  }

  persons() {
    return this.#rows('persons');
  }

  teams() {
    return this.#rows('teams');
  }

  members(team) {
    return this.#pages('members', 0, { team });
  }

  leave(team) {
    return this.#count('leave', { team });
  }

  departures() {
    return this.#rows('departures');
  }

  problems() {
    return this.#rows('problems');
  }

  forget_problems(last) {
    return this.#done('forget_problems', { last });
  }

  devices(person) {
    return this.call('devices', { person });
  }

  name_device(device, name) {
    return this.#done('name_device', { device, name });
  }

  device_changes() {
    return this.#rows('device_changes');
  }

  mark_changes_seen(last) {
    return this.#done('mark_changes_seen', { last });
  }

  backup() {
    return this.call('backup');
  }
}

/** A connection to a node whose version was asked for. */
class Connection {
  #socket;
  #pieces;
  /** Received bytes behind the last line. */
  #rest = null;
  #timeoutMs;

  constructor(socket, timeoutMs) {
    this.#socket = socket;
    this.#pieces = socket[Symbol.asyncIterator]();
    this.#timeoutMs = timeoutMs;
    // The iterator reports errors. Those of writing come when the node has ended the connection.
    socket.on('error', () => {});
  }

  static async open(path, timeoutMs, signal) {
    const connection = new Connection(await connected(path, timeoutMs, signal), timeoutMs);
    try {
      const result = await connection.ask(requestLine(0, 'version', {}), 0, timeoutMs);
      if (result?.api === API) return connection;
      const found = `the node has version ${result?.api} of its interface, not ${API}`;
      throw new NodeError('version', found);
    } catch (error) {
      connection.close();
      if (error.code !== 'connection_lost') throw error;
      throw new NodeError('not_running', `the node at '${path}' has ended`);
    }
  }

  close() {
    this.#socket.destroy();
  }

  /** Sends a request, and returns its result. */
  async ask(line, id, timeoutMs) {
    this.#socket.write(line);
    return resultOf(await this.receive(timeoutMs), id);
  }

  /** Receives a line without its end. The time is that of two parts of it. */
  async receive(timeoutMs) {
    let length = 0;
    const parts = [];
    for (;;) {
      const piece = this.#rest ?? (await this.#piece(timeoutMs));
      const end = piece.indexOf(10);
      this.#rest = end < 0 ? null : piece.subarray(end + 1);
      const part = end < 0 ? piece : piece.subarray(0, end);
      length += part.length;
      if (length >= MAX_LINE) throw unexpected(`a line has more than ${MAX_LINE} bytes`);
      parts.push(part);
      if (end >= 0) return Buffer.concat(parts);
    }
  }

  async #piece(timeoutMs) {
    let next;
    try {
      next = await inTime(this.#pieces.next(), timeoutMs);
    } catch (error) {
      if (error instanceof NodeError) throw error;
      next = { done: true };
    }
    if (!next.done) return next.value;
    throw new NodeError('connection_lost', 'the connection to the node ended before its answer');
  }
}

async function connected(path, timeoutMs, signal) {
  if (Buffer.byteLength(path) > MAX_PATH) {
    throw new NodeError('not_running', `no node runs at '${path}', longer than ${MAX_PATH} bytes`);
  }
  const socket = createConnection(path);
  const end = () => socket.destroy(new Error('aborted'));
  signal?.addEventListener('abort', end);
  socket.once('close', () => signal?.removeEventListener('abort', end));
  const open = new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  try {
    await inTime(open, timeoutMs);
    return socket;
  } catch (error) {
    socket.destroy();
    if (error instanceof NodeError) throw error;
    if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') {
      throw new NodeError('not_running', `no node runs at '${path}': start it with endseal up`);
    }
    throw new NodeError('socket', `the socket '${path}' cannot be used: ${error.code}`);
  }
}

async function inTime(promise, timeoutMs) {
  if (timeoutMs > LONGEST) return promise;
  let timer;
  const late = new Promise((_, reject) => {
    const text = `the node gave no answer in ${timeoutMs / 1000} s`;
    timer = setTimeout(() => reject(new NodeError('timed_out', text)), timeoutMs);
  });
  // If it fails later, there is no one to tell.
  promise.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function defaultHome() {
  const { ENDSEAL_HOME: home, XDG_DATA_HOME: data = '' } = process.env;
  if (home) return home;
  return join(isAbsolute(data) ? data : join(homedir(), '.local/share'), 'endseal');
}

function textsOf(texts) {
  return typeof texts === 'string' ? [texts] : [...texts];
}

function mayRepeat(error, method) {
  return AWAY.has(error.code) || (error.code === 'connection_lost' && REPEATABLE.has(method));
}

function requestLine(id, method, params) {
  const line = `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
  if (Buffer.byteLength(line) <= MAX_LINE) return line;
  throw new NodeError('line_too_long', `the request has more than ${MAX_LINE} bytes`);
}

/** The result in a line, or the error in it as an exception. */
function resultOf(line, id) {
  const answer = objectOf(line);
  // The node has no id of a request that it could not read.
  if (answer.error !== undefined) throw errorOf(answer.error);
  if (answer.id !== id || answer.result === undefined) {
    throw unexpected('a line is no answer to the request');
  }
  return answer.result;
}

/** The texts in a notification, or the error that ends the subscription. */
function followed(line) {
  const { error, method, params } = objectOf(line);
  if (error !== undefined) throw errorOf(error);
  if (method === 'ended') throw errorOf(params);
  if (method !== 'unread') throw unexpected('a line is no notification of texts');
  return rowsOf(params);
}

function rowsOf(page) {
  if (Array.isArray(page?.rows)) return page.rows;
  throw unexpected('a page has no rows');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function objectOf(line) {
  let value;
  try {
    value = JSON.parse(utf8.decode(line));
  } catch {
    // The message of the parser repeats what was received.
    throw unexpected('a line is not JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw unexpected('a line has no object');
}

function errorOf(error) {
  if (typeof error?.data?.kind !== 'string') return unexpected('an error has no kind');
  const { kind, ...data } = error.data;
  const isOlder = kind === 'unknown_method';
  const hint = isOlder ? ': the node may be an older program than this package' : '';
  return new NodeError(kind, `${error.message}${hint}`, data);
}

function unexpected(message) {
  return new NodeError('unexpected', `${message}; the node may be another version`);
}
