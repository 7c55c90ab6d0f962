// Rules and decisions of docs/spec/nostr-connect.md, written from the document, and the check of its vectors
// `rule.json` and `decision.json`.

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import * as nip19 from 'nostr-tools/nip19';
import { schnorr } from '@noble/curves/secp256k1.js';

const LEN = 88;
const EFFECTS = ['allow', 'deny', 'ask'];
const SUBJECTS = [
  'sign', 'nip04_encrypt', 'nip04_decrypt', 'nip44_encrypt', 'nip44_decrypt', 'unwrap',
];
const BOUNDS = ['none', 'peer', 'scope'];
const LOGIN = 22242;
const TOKEN = 27235;
const SCOPE_LIFETIME = 7776000n;
/** Kinds that a rule of several kinds does not allow. */
const SENSITIVE = [13, 62, LOGIN, 23194, 24133, 24242, TOKEN];
const MAX_U32 = 0xffffffff;
const MAX_KIND = 0xffff;

export const sha256 = (data) => createHash('sha256').update(data).digest('hex');
const isCredential = (kind) => kind === LOGIN || kind === TOKEN;
const hasKinds = (subject) => subject === 'sign' || subject === 'unwrap';
/** The kind of a rule that is about one log-in or token. */
const credential = ({ subject, first, last }) =>
  subject === 'sign' && first === last && isCredential(first);

/** A refusal with its class. */
export class Refused extends Error {
  constructor(kind, text = kind) {
    super(text);
    this.kind = kind;
  }
}

function require(condition, kind) {
  if (!condition) {
    throw new Refused(kind);
  }
}

export function readRule(hex) {
  const bytes = Buffer.from(hex, 'hex');
  require(bytes.length === LEN, 'length');
  require(bytes[0] === 1, 'version');
  const value = bytes.toString('hex', 8, 40);
  const bound = BOUNDS[bytes[3]];
  const rule = {
    effect: EFFECTS[bytes[1] - 1],
    subject: SUBJECTS[bytes[2] - 1],
    bound,
    first: bytes.readUInt16LE(4),
    last: bytes.readUInt16LE(6),
    value: bound === 'none' ? undefined : value,
    number: bytes.readUInt32LE(40),
    made: bytes.readBigUInt64LE(44),
    expires: bytes.readBigUInt64LE(52),
    uses: bytes.readUInt32LE(60),
    rateUses: bytes.readUInt32LE(64),
    rateWindow: bytes.readUInt32LE(68),
    used: bytes.readUInt32LE(72),
    begin: bytes.readBigUInt64LE(76),
    windowUsed: bytes.readUInt32LE(84),
  };
  require(rule.effect && rule.subject && bound && rule.number > 0, 'value');
  require(bound !== 'none' || /^0*$/.test(value), 'value');
  require(rule.first <= rule.last, 'value');
  require(hasKinds(rule.subject) || (rule.first === 0 && rule.last === 0), 'value');
  require(bound !== 'peer' || !hasKinds(rule.subject), 'value');
  require(bound !== 'scope' || credential(rule), 'value');
  require(rule.expires === 0n || rule.expires > rule.made, 'value');
  const isAllowance = rule.effect === 'allow';
  if (isAllowance && credential(rule)) {
    require(bound === 'scope' && rule.expires !== 0n, 'value');
    require(rule.expires - rule.made <= SCOPE_LIFETIME, 'value');
  }
  require((rule.rateUses === 0) === (rule.rateWindow === 0), 'value');
  require(rule.uses === 0 || rule.used <= rule.uses, 'value');
  require(rule.windowUsed <= rule.rateUses && rule.windowUsed <= rule.used, 'value');
  require(rule.windowUsed > 0 || rule.begin === 0n, 'value');
  require(isAllowance || (rule.uses === 0 && rule.rateUses === 0 && rule.used === 0), 'value');
  return rule;
}

export function writeRule(rule) {
  const bytes = Buffer.alloc(LEN);
  bytes[0] = 1;
  bytes[1] = EFFECTS.indexOf(rule.effect) + 1;
  bytes[2] = SUBJECTS.indexOf(rule.subject) + 1;
  bytes[3] = BOUNDS.indexOf(rule.bound);
  bytes.writeUInt16LE(rule.first, 4);
  bytes.writeUInt16LE(rule.last, 6);
  bytes.write(rule.value ?? '', 8, 'hex');
  bytes.writeUInt32LE(rule.number, 40);
  bytes.writeBigUInt64LE(rule.made, 44);
  bytes.writeBigUInt64LE(rule.expires, 52);
  bytes.writeUInt32LE(rule.uses, 60);
  bytes.writeUInt32LE(rule.rateUses, 64);
  bytes.writeUInt32LE(rule.rateWindow, 68);
  bytes.writeUInt32LE(rule.used, 72);
  bytes.writeBigUInt64LE(rule.begin, 76);
  bytes.writeUInt32LE(rule.windowUsed, 84);
  return bytes.toString('hex');
}

function readText(text) {
  const [, name, parameter] = /^([^:]*)(?::(.*))?$/s.exec(text);
  const subject = name === 'sign_event' ? 'sign' : name;
  require(SUBJECTS.includes(subject), 'subject');
  const all = { subject, first: 0, last: hasKinds(subject) ? MAX_KIND : 0, bound: 'none' };
  if (parameter === undefined) {
    return all;
  }
  if (!hasKinds(subject)) {
    return { ...all, bound: 'peer', value: readPeer(parameter) };
  }
  const [, kinds, scope] = /^([^:]*)(?::(.*))?$/s.exec(parameter);
  const numbers = kinds.split('-');
  require(numbers.length <= 2 && numbers.every((it) => /^(0|[1-9][0-9]{0,4})$/.test(it)), 'kind');
  const [first, last = first] = numbers.map(Number);
  require(first <= last && last <= MAX_KIND, 'kind');
  const pattern = { ...all, first, last };
  return scope === undefined
    ? pattern
    : { ...pattern, bound: 'scope', value: readScope(pattern, scope) };
}

function readPeer(text) {
  try {
    const hex = /^[0-9a-f]{64}$/.test(text) ? text : npub(text);
    schnorr.utils.lift_x(BigInt(`0x${hex}`));
    return hex;
  } catch {
    throw new Refused('key');
  }
}

function npub(text) {
  const { type, data } = nip19.decode(text.toLowerCase());
  require(type === 'npub' && (text === text.toLowerCase() || text === text.toUpperCase()), 'key');
  return data;
}

function readScope(pattern, text) {
  require(credential(pattern), 'scope');
  if (text.startsWith('#')) {
    require(/^#[0-9a-f]{64}$/.test(text), 'scope');
    return text.slice(1);
  }
  if (pattern.first === TOKEN && !text.includes(' ')) {
    const [, site] = /^(https?:\/\/[^\/?#]+)\/?$/i.exec(text) ?? [];
    require(/^[!-~]+$/.test(text) && site && siteOf(site), 'scope');
    return sha256(siteOf(site));
  }
  const form = pattern.first === LOGIN ? /^[!-~]+$/ : /^[!-~]+ [!-~]+$/;
  require(form.test(text), 'scope');
  const [method, url] = pattern.first === LOGIN ? [undefined, text] : text.split(' ');
  return sha256(method === undefined ? canonical(url) : `${method} ${canonical(url)}`);
}

/** Scheme, host and port in lower case, without the scheme's own port, and the rest of a URL. */
function split(url) {
  const [, scheme, authority, rest] = /^(https|http|wss|ws):\/\/([^\/?#]*)(.*)$/is.exec(url) ?? [];
  if (scheme === undefined) {
    return undefined;
  }
  const port = /^(https|wss)$/i.test(scheme) ? /:443$/ : /:80$/;
  return [`${scheme}://${authority.replace(port, '')}`.toLowerCase(), rest];
}

function canonical(url) {
  const [origin, rest] = split(url) ?? [url, ''];
  return rest === '/' ? origin : origin + rest;
}

/** The site of a URL of HTTP, or nothing. */
export function siteOf(url) {
  return /^https?:\/\/[^\/?#]/i.test(url) ? split(url)[0] : undefined;
}

function writeText({ subject, first, last, bound, value }) {
  let text = subject;
  if (hasKinds(subject) && !(first === 0 && last === MAX_KIND)) {
    text += first === last ? `:${first}` : `:${first}-${last}`;
  }
  if (bound === 'peer') {
    text += `:${nip19.npubEncode(value)}`;
  }
  return bound === 'scope' ? `${text}:#${value}` : text;
}

/** The scope of a template, or nothing for other kinds. */
export function scopeOf({ kind, tags }) {
  if (!isCredential(kind)) {
    return undefined;
  }
  const value = (name) => {
    const named = tags.filter((tag) => tag[0] === name);
    require(named.length === 1 && named[0].length > 1, 'request');
    return named[0][1];
  };
  const visible = (text) => {
    require(/^[!-~]+$/.test(text), 'request');
    return text;
  };
  if (kind === TOKEN) {
    const [method, url] = [value('method'), value('u')];
    return `${visible(method)} ${canonical(visible(url))}`;
  }
  value('challenge');
  return canonical(visible(value('relay')));
}

function matches(rule, { subject, kind, peer, scope, site }) {
  if (rule.subject !== subject) {
    return false;
  }
  if (hasKinds(subject) && (kind < rule.first || kind > rule.last)) {
    return false;
  }
  switch (rule.bound) {
    case 'peer':
      return rule.value === peer;
    case 'scope':
      return rule.value === scope || rule.value === site;
    default:
      return rule.effect !== 'allow' || subject !== 'sign' || rule.first === rule.last
        || !SENSITIVE.includes(kind);
  }
}

const isWithin = (rule, now) =>
  rule.windowUsed > 0 && now < rule.begin + BigInt(rule.rateWindow);

function isUsedUp(rule, now) {
  return (rule.uses > 0 && rule.used >= rule.uses)
    || (rule.rateUses > 0 && rule.windowUsed >= rule.rateUses && isWithin(rule, now));
}

/** The verdict, a class, and the rule that gave it. */
export function decide(rules, action, time) {
  const now = BigInt(time);
  const matching = rules
    .filter((rule) => matches(rule, action) && (rule.expires === 0n || now < rule.expires))
    .sort((a, b) => a.number - b.number);
  const first = (effect, usedUp) => matching.find(
    (rule) => rule.effect === effect && (effect !== 'allow' || isUsedUp(rule, now) === usedUp),
  );
  for (const [verdict, rule] of [
    ['denied', first('deny')],
    ['ok', first('allow', false)],
    ['ask', first('ask')],
    ['limit', first('allow', true)],
  ]) {
    if (rule) {
      return { verdict, rule };
    }
  }
  return { verdict: 'denied' };
}

function charged(rule, time) {
  const now = BigInt(time);
  const after = { ...rule, used: Math.min(rule.used + 1, MAX_U32) };
  if (rule.rateUses > 0) {
    const within = isWithin(rule, now);
    after.begin = within ? rule.begin : now;
    after.windowUsed = within ? rule.windowUsed + 1 : 1;
  }
  return after;
}

const differs = (found, wanted) => (isDeepStrictEqual(found, wanted)
  ? undefined
  : `${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);

/** Describes the error if `work` does not refuse with the expected class. */
export function judged(expect, work) {
  let found = 'ok';
  let problem;
  try {
    problem = work();
  } catch (error) {
    if (!(error instanceof Refused)) {
      throw error;
    }
    found = error.kind;
  }
  return differs(found, expect) ?? problem;
}

function rule(it) {
  return judged(it.expect, () => {
    if (it.form === 'list') {
      const items = it.input.split(',').filter((item) => item !== '');
      const texts = items.map((item) => writeText(readText(item)));
      return differs(texts, it.written);
    }
    if (it.form === 'text') {
      const pattern = readText(it.input);
      const none = { made: 0n, expires: 0n, uses: 0, rateUses: 0, rateWindow: 0 };
      const unused = { used: 0, begin: 0n, windowUsed: 0 };
      const asks = { ...pattern, effect: 'ask', number: 1, ...none, ...unused };
      return differs(writeText(pattern), it.written) ?? differs(writeRule(asks), it.bytes);
    }
    const found = readRule(it.input);
    const { expect, form, comment, input, ...fields } = it;
    return differs(writeRule(found), input) ?? differs({
      effect: found.effect,
      subject: found.subject,
      first_kind: found.first,
      last_kind: found.last,
      bound: found.bound,
      value: found.value ?? null,
      number: found.number,
      made: `${found.made}`,
      expires: found.expires === 0n ? null : `${found.expires}`,
      uses: found.uses || null,
      rate: found.rateUses ? [found.rateUses, found.rateWindow] : null,
      used: found.used,
      window_begin: `${found.begin}`,
      window_used: found.windowUsed,
      text: writeText(found),
    }, Object.fromEntries(Object.entries(fields)));
  });
}

function decision(it) {
  if (it.form === 'scope') {
    return judged(it.expect, () => {
      const scope = scopeOf(JSON.parse(it.input));
      const url = scope.split(' ')[1];
      return differs(scope, it.scope) ?? differs(sha256(scope), it.digest)
        ?? differs(url && sha256(siteOf(url)), it.site);
    });
  }
  const found = decide(it.rules.map(readRule), it.action, it.now);
  return differs(found.verdict, it.expect)
    ?? differs(found.rule?.number ?? null, it.rule)
    ?? (it.expect === 'ok' ? differs(writeRule(charged(found.rule, it.now)), it.charged) : undefined);
}

export const CHECKS = { 'rule.json': rule, 'decision.json': decision };
