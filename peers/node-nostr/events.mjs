// The vectors of docs/spec/nostr-events.md: by file, what nostr-tools does with a case. Its reader of
// JSON is JSON.parse, and its reader of entities leaves more to its caller: a refusal that it does not
// share is `SKIPPED`, except where ids and signatures decide. Messages of NIP-46 it leaves to JSON.

import { isDeepStrictEqual } from 'node:util';

import * as nip19 from 'nostr-tools/nip19';
import { getEventHash, getPublicKey, verifyEvent } from 'nostr-tools/pure';

import { SKIPPED } from './ours.mjs';

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (value) => (typeof value === 'string' ? value : Buffer.from(value).toString('hex'));
const differs = (found, wanted) => (found === wanted ? undefined : `${found}, not ${wanted}`);
const NOBODY = '0'.repeat(64);

export const CHECKS = { 'event.json': event, 'entity.json': entity, 'key.json': key };

function event({ expect, form, input, id, id_of_zero: idOfZero, written }) {
  if (expect !== 'ok' && expect !== 'authentication') {
    return SKIPPED;
  }
  const read = JSON.parse(input);
  if (expect === 'authentication') {
    const valid = form === 'event' ? verifyEvent(read) : getEventHash(read) === read.id;
    return valid ? 'accepts it' : undefined;
  }
  if (form === 'template') {
    return differs(getEventHash({ ...read, pubkey: NOBODY }), idOfZero);
  }
  const { pubkey, created_at, kind, tags, content, sig } = read;
  const again = { id: getEventHash(read), pubkey, created_at, kind, tags, content, sig };
  return differs(again.id, id ?? read.id)
    ?? (written === undefined ? undefined : differs(JSON.stringify(again), written))
    ?? (form === 'event' && !verifyEvent(read) ? 'does not verify' : undefined);
}

function entity({ expect, input, type, ...members }) {
  const read = () => nip19.decode(input.replace(/^nostr:/, ''));
  if (expect !== 'ok') {
    return refusedOr(SKIPPED, read);
  }
  const found = read();
  const fits = found.type === type && isDeepStrictEqual(plain(found), expected(type, members));
  // It writes the parts in an order of its own.
  const again = nip19.decode(encoded(found));
  return fits && isDeepStrictEqual(again, found) ? undefined : `reads ${JSON.stringify(found)}`;
}

/** Returns the decoded fields, named as in the vectors. */
function plain({ type, data }) {
  switch (type) {
    case 'npub':
      return { public_key: data };
    case 'note':
      return { id: data };
    case 'nprofile':
      return { public_key: data.pubkey, relays: data.relays };
    case 'nevent':
      return { id: data.id, relays: data.relays, author: data.author, kind: data.kind };
    default:
      return {
        identifier: data.identifier, relays: data.relays, author: data.pubkey, kind: data.kind,
      };
  }
}

function expected(type, members) {
  const names = {
    npub: ['public_key'],
    note: ['id'],
    nprofile: ['public_key', 'relays'],
    nevent: ['id', 'relays', 'author', 'kind'],
    naddr: ['identifier', 'relays', 'author', 'kind'],
  };
  return Object.fromEntries(names[type].map((name) => [name, members[name]]));
}

function encoded({ type, data }) {
  return nip19[`${type}Encode`](data);
}

function key({ expect, form, input, bytes: value, public_key: known }) {
  if (form === 'secret' || form === 'public') {
    return expect === 'ok' && known ? differs(getPublicKey(bytes(input)), known) : SKIPPED;
  }
  const read = () => nip19.decode(input);
  if (expect !== 'ok') {
    return refusedOr(SKIPPED, read);
  }
  const { type, data } = read();
  const written = encoded({ type, data });
  return differs(type, form)
    ?? differs(hex(data), value)
    ?? differs(written, input.toLowerCase())
    ?? (known ? differs(getPublicKey(data), known) : undefined);
}

function refusedOr(other, work) {
  try {
    work();
    return other;
  } catch {
    return undefined;
  }
}
