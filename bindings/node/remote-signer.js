// A client of a remote signer (NIP-46), over WebSocket.

import { argument, attempt, checkOptions, made, optionOf, partOf, textOf } from './checks.js';
import { EndsealError } from './error.js';
import { keyOf, now, publicKey, templateOf, verifyEvent } from './nostr-key.js';
import { module } from './nostr-module.js';

/** Kind of the events that carry requests and responses. */
const KIND = 24_133;
/** Kind of a log-in to a relay (NIP-42). */
const LOGIN = 22_242;
/** Longest message of a relay that is read. */
const MAX_MESSAGE = 640 * 1024;
const MAX_RELAYS = 8;
/** Log-ins that one connection can demand. */
const MAX_LOGINS = 8;
/** Events that answer no request, after which a connection ends: each costs a signature's check. */
const MAX_USELESS = 100;
/** Seconds by which the signer's clock may be behind. */
const MAX_SKEW = 300;
/** A signer that asks a person answers within a minute, and within five if it shows a page. */
const [TIMEOUT, APPROVAL_TIMEOUT] = [70_000, 310_000];
/** Delay before `connect` is sent again, as the signer may have been offline. It doubles. */
const AGAIN = 2_000;
const [RECONNECT, MAX_RECONNECT] = [1_000, 30_000];
/** Name of the one subscription of a connection. */
const SUBSCRIPTION = 'endseal';
const MAX_PAGE = 2_048;
/** Characters of an error text that are shown. */
const MAX_TEXT = 200;
const CLOSED = 'the connection to the signer was closed';

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A text of a signer or a relay, without characters that move the cursor or change direction. */
const shown = (text) =>
  text.slice(0, MAX_TEXT).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');

const isLoopback = (host) =>
  host === 'localhost' || host === '[::1]' || /^127\.[0-9.]+$/.test(host);

/** True for relays whose traffic others cannot read: who communicates, and when. */
function isPrivate(url) {
  // A URL is read without line feeds, and sent with them. WebSockets have no fragments.
  if (!/^[\x21\x22\x24-\x7e]+$/.test(url)) throw argument('a relay is no URL');
  let protocol, hostname;
  try {
    ({ protocol, hostname } = new URL(url));
  } catch {
    throw argument('a relay is no URL');
  }
  return protocol === 'wss:' || isLoopback(hostname) || hostname.endsWith('.onion');
}

/** True for a page that others cannot change on its way, and that hides no host behind a user. */
function isPage(text) {
  if (text.length > MAX_PAGE || !/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/.test(text)) return false;
  try {
    const { protocol, hostname, username, password } = new URL(text);
    return username + password === '' && (protocol === 'https:' || isLoopback(hostname));
  } catch {
    return false;
  }
}

/** A timer that keeps no program running. */
function later(work, milliseconds) {
  const timer = setTimeout(work, milliseconds);
  timer?.unref?.();
  return timer;
}

/** The connection to one relay, which is made again when it ends. */
class Relay {
  isOpen = false;
  /** True if it was open once. */
  wasOpen = false;
  /** Events since the last answer that answer no request. */
  useless = 0;
  #url;
  #client;
  #socket;
  #logins = 0;
  /** Id of the log-in that the relay has not answered yet. */
  #login;
  #delay = RECONNECT;
  #timer;

  constructor(url, client) {
    this.#url = url;
    this.#client = client;
    this.#connect();
  }

  #connect() {
    const socket = this.#client.socket(this.#url);
    this.#socket = socket;
    this.#logins = this.useless = 0;
    this.#login = undefined;
    socket.onopen = () => {
      this.isOpen = this.wasOpen = true;
      this.#delay = RECONNECT;
      this.#begin();
    };
    socket.onmessage = ({ data }) => {
      try {
        if (typeof data === 'string' && data.length <= MAX_MESSAGE) this.#receive(data);
      } catch {
        // No message of a relay ends the program: it is one that is not understood.
      }
    };
    socket.onerror = () => {};
    socket.onclose = () => {
      this.isOpen = false;
      this.#reconnect();
    };
  }

  #reconnect() {
    if (this.#client.isClosed) return;
    this.#timer = later(() => {
      try {
        this.#connect();
      } catch {
        this.#reconnect();
      }
    }, this.#delay);
    this.#delay = Math.min(2 * this.#delay, MAX_RECONNECT);
  }

  /** Subscribes, and sends what waits for a response. */
  #begin() {
    this.send(['REQ', SUBSCRIPTION, this.#client.filter()]);
    this.#client.repeat(this);
  }

  send(message) {
    if (this.isOpen) this.#socket.send(JSON.stringify(message));
  }

  #receive(text) {
    const [type, first, second, third] = JSON.parse(text);
    if (typeof first !== 'string') return;
    if (type === 'EVENT' && first === SUBSCRIPTION) this.#event(second);
    else if (type === 'AUTH') this.#logIn(first);
    else if (type === 'OK' && first === this.#login) {
      this.#login = undefined;
      if (second === true) this.#begin();
    } else if (type === 'OK' && second !== true) {
      this.#client.refused(first, this, typeof third === 'string' ? shown(third) : '');
    }
  }

  #event(event) {
    if (this.useless >= MAX_USELESS) return;
    this.useless += 1;
    this.#client.receive(event);
    if (this.useless >= MAX_USELESS) this.#socket.close();
  }

  #logIn(challenge) {
    if (this.#logins >= MAX_LOGINS) return;
    this.#logins += 1;
    const event = this.#client.signed({
      kind: LOGIN,
      created_at: now(),
      tags: [['relay', this.#url], ['challenge', challenge]],
      content: '',
    });
    this.#login = event?.id;
    if (event) this.send(['AUTH', event]);
  }

  close() {
    clearTimeout(this.#timer);
    this.isOpen = false;
    try {
      this.#socket.close();
    } catch {
      // It was not open yet.
    }
  }
}

/** Requests that wait, and the relays over which they go. */
class Client {
  isClosed = false;
  signer;
  #key;
  #own;
  #relays = [];
  #WebSocket;
  #onAuthUrl;
  #timeout;
  /** Requests that wait, by their ids. */
  #waiting = new Map();

  /** What ends the wait for a signer that was invited. */
  #invited;

  constructor(key, signer, urls, options) {
    this.#key = key;
    this.#own = key.public;
    this.signer = signer;
    this.#WebSocket = options.WebSocket;
    this.#onAuthUrl = options.onAuthUrl;
    this.#timeout = options.timeoutMs;
    try {
      for (const url of urls) this.#relays.push(new Relay(url, this));
    } catch (error) {
      this.close();
      throw argument(`no connection to a relay can be made: ${error.message}`);
    }
  }

  socket(url) {
    return new this.#WebSocket(url);
  }

  filter() {
    const authors = this.signer ? { authors: [this.signer] } : {};
    return { kinds: [KIND], ...authors, '#p': [this.#own], since: now() - MAX_SKEW };
  }

  /** Waits for the signer that knows the secret of an invitation. */
  accepted(secret) {
    return new Promise((resolve, reject) => {
      this.#invited = { secret, resolve, reject };
    });
  }

  #accept(event) {
    try {
      this.signer = this.#key.accepted(JSON.stringify(event), this.#invited.secret);
    } catch {
      // Of someone who does not know the secret.
      return;
    }
    this.#isUseful();
    this.#invited.resolve();
    this.#invited = undefined;
  }

  #isUseful() {
    for (const relay of this.#relays) relay.useless = 0;
  }

  /** A signed event; undefined if the key was disposed of. */
  signed(template) {
    try {
      return JSON.parse(this.#key.sign(JSON.stringify(template)));
    } catch {
      return undefined;
    }
  }

  /** Sends a request over all relays, and waits for its response. */
  async request(method, params) {
    if (this.isClosed) throw new EndsealError('closed', CLOSED);
    const id = newId();
    const json = JSON.stringify({ id, method, params });
    return new Promise((resolve, reject) => {
      const waiting = { id, json, ids: new Set(), refusals: new Map(), resolve, reject };
      this.#waiting.set(id, waiting);
      this.#wait(waiting, this.#timeout);
      this.#publish(waiting, this.#relays);
      if (method === 'connect' && this.#waiting.has(id)) this.#again(waiting, AGAIN);
    });
  }

  #wait(waiting, milliseconds) {
    clearTimeout(waiting.timer);
    waiting.timer = setTimeout(() => {
      const wasOpen = this.#relays.some((it) => it.wasOpen);
      this.#end(waiting, wasOpen
        ? new EndsealError('timeout', 'the signer has not answered in time')
        : new EndsealError('relay', 'no relay of the signer can be reached'));
    }, milliseconds);
  }

  #again(waiting, delay) {
    waiting.again = later(() => {
      this.#publish(waiting, this.#relays);
      if (this.#waiting.has(waiting.id)) this.#again(waiting, 2 * delay);
    }, delay);
  }

  /** Publishes a request in an event of its own: signers ignore one that they have seen. */
  #publish(waiting, relays) {
    const open = relays.filter((it) => it.isOpen);
    if (open.length === 0) return;
    try {
      const event = JSON.parse(attempt(() => this.#key.request(this.signer, waiting.json, now())));
      waiting.ids.add(event.id);
      for (const relay of open) relay.send(['EVENT', event]);
    } catch (error) {
      // The request is too long, or the key was disposed of.
      this.#end(waiting, error);
    }
  }

  repeat(relay) {
    for (const waiting of this.#waiting.values()) {
      waiting.refusals.delete(relay);
      this.#publish(waiting, [relay]);
    }
  }

  /** A relay has not taken an event. A log-in may follow. */
  refused(id, relay, reason) {
    if (reason.startsWith('auth-required:')) return;
    const waiting = [...this.#waiting.values()].find((it) => it.ids.has(id));
    waiting?.refusals.set(relay, reason);
    if (waiting && this.#relays.every((it) => waiting.refusals.has(it))) {
      this.#end(waiting, new EndsealError('relay', `the relays refuse the request: ${reason}`));
    }
  }

  receive(event) {
    if (this.#invited) {
      this.#accept(event);
      return;
    }
    if (this.#waiting.size === 0 || event?.pubkey !== this.signer) return;
    let response;
    try {
      response = this.#key.response(this.signer, JSON.stringify(event));
    } catch {
      // Of another author, or an answer that was changed on its way.
      return;
    }
    const waiting = this.#waiting.get(response.id);
    if (!waiting) return;
    this.#isUseful();
    if (response.kind === 'auth-url') this.#showPage(waiting, response.text);
    else if (response.kind === 'error') {
      this.#end(waiting, new EndsealError('refused', shown(response.text)));
    } else this.#end(waiting, undefined, response.text);
  }

  /** Shows the page on which a person decides: another response follows. */
  #showPage(waiting, url) {
    if (waiting.hasPage || !isPage(url)) return;
    waiting.hasPage = true;
    clearTimeout(waiting.again);
    this.#wait(waiting, Math.max(this.#timeout, APPROVAL_TIMEOUT));
    try {
      this.#onAuthUrl?.(url);
    } catch (error) {
      this.#end(waiting, error);
    }
  }

  #end(waiting, error, result) {
    clearTimeout(waiting.timer);
    clearTimeout(waiting.again);
    this.#waiting.delete(waiting.id);
    if (error) waiting.reject(error);
    else waiting.resolve(result);
  }

  close() {
    this.isClosed = true;
    this.#invited?.reject(new EndsealError('closed', CLOSED));
    this.#invited = undefined;
    for (const waiting of [...this.#waiting.values()]) {
      this.#end(waiting, new EndsealError('closed', CLOSED));
    }
    for (const relay of this.#relays) relay.close();
  }
}

/** Options of a connection, checked. */
function optionsOf(given, ...more) {
  checkOptions(given, [
    'key', 'name', 'permissions', 'timeoutMs', 'allowInsecure', 'onAuthUrl', 'WebSocket', ...more,
  ]);
  const timeoutMs = optionOf(given, 'timeoutMs', 'number') ?? TIMEOUT;
  if (!(timeoutMs > 0 && timeoutMs < 2 ** 31)) throw argument('timeoutMs is positive');
  const WebSocket = optionOf(given, 'WebSocket', 'function') ?? globalThis.WebSocket;
  if (!WebSocket) {
    throw argument('this runtime has no WebSocket: give one as option, as the package ws has it');
  }
  return {
    key: keyOf(given?.key),
    name: optionOf(given, 'name', 'string'),
    permissions: Array.from(given.permissions ?? [], String).join(','),
    allowInsecure: optionOf(given, 'allowInsecure', 'boolean') ?? false,
    onAuthUrl: optionOf(given, 'onAuthUrl', 'function'),
    timeoutMs,
    WebSocket,
  };
}

/** Relays that are connected to. */
function acceptedOf(relays, { allowInsecure }) {
  const accepted = relays.filter((url) => isPrivate(url) || allowInsecure);
  if (accepted.length > 0) return accepted.slice(0, MAX_RELAYS);
  throw argument('there is no relay, or they are ws:// and allowInsecure is not set');
}

/** The object for a signer that knows this client. */
async function connected(client) {
  return made(RemoteSigner, { client, user: publicKey(await client.request('get_public_key', [])) });
}

/** What an object has of its connection. */
const partsOf = (signer) => partOf(signer, RemoteSigner);

export class RemoteSigner {
  constructor() {
    throw new TypeError('RemoteSigner.connect makes remote signers');
  }

  static async connect(uri, given) {
    const options = optionsOf(given);
    const { signer, secret, relays } = attempt(() => module.bunker(String(uri)));
    const client = new Client(options.key, signer, acceptedOf(relays, options), options);
    try {
      const metadata = options.name === undefined ? [] : [JSON.stringify({ name: options.name })];
      const params = [signer, secret, options.permissions, ...metadata];
      await client.request('connect', params).catch((error) => {
        // Some signers answer so to a client that they know.
        if (error.code !== 'refused' || !/already connected/i.test(error.message)) throw error;
      });
      return await connected(client);
    } catch (error) {
      client.close();
      throw error;
    }
  }

  static invite(given) {
    const options = optionsOf(given, 'relays');
    const { key, name, permissions } = options;
    const relays = acceptedOf(Array.from(given.relays ?? [], String), options);
    const [uri, secret] = attempt(() => key.invitation(relays, permissions, name));
    const client = new Client(key, undefined, relays, options);
    const signer = client.accepted(secret).then(() => connected(client)).catch((error) => {
      client.close();
      throw error;
    });
    // The caller may look later.
    signer.catch(() => {});
    return { uri, signer, close: () => client.close() };
  }

  get publicKey() {
    return partsOf(this).user;
  }

  async request(method, params = []) {
    const texts = Array.from(params, (it) => textOf(it, 'each of params'));
    return partsOf(this).client.request(String(method), texts);
  }

  async sign(event) {
    const { client, user } = partsOf(this);
    const template = templateOf(event);
    const signed = jsonOf(await client.request('sign_event', [JSON.stringify(template)]));
    const isSame = ['kind', 'created_at', 'content'].every((it) => signed?.[it] === template[it])
      && JSON.stringify(signed.tags) === JSON.stringify(template.tags) && signed.pubkey === user;
    if (!isSame) throw new EndsealError('event', 'the signer has signed another event');
    await verifyEvent(signed);
    return signed;
  }

  async encrypt(peer, text) {
    return this.request('nip44_encrypt', [publicKey(peer), text]);
  }

  async decrypt(peer, payload) {
    return this.request('nip44_decrypt', [publicKey(peer), payload]);
  }

  async ping() {
    await this.request('ping');
  }

  async logout() {
    await this.request('logout');
    this.close();
  }

  close() {
    partsOf(this).client.close();
  }
}
Object.defineProperty(RemoteSigner.prototype, Symbol.dispose ?? Symbol.for('nodejs.dispose'), {
  value: RemoteSigner.prototype.close,
});

/** The value of JSON, or undefined. */
function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
