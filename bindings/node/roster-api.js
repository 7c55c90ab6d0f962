// Rosters: who belongs to a group. `roster.d.ts` has the documentation.

import { argument, attemptLater, bytesOf, checkOptions, made, optionOf, partOf } from './checks.js';
import { PublicIdentity, Recipients } from './api.js';
import { module } from './roster-module.js';

export { EndsealError } from './error.js';

const utf8 = new TextEncoder();

/** A copy of a file, which the caller may change meanwhile. */
function fileOf(file) {
  if (typeof file === 'string') return utf8.encode(file);
  return bytesOf(file, 'a roster').slice();
}

/** Facts, as the module writes them, and members behind them. */
function rosterOf(file, texts) {
  const [group, id, epoch, digest, previous, owner, signingOwner, signer, ...rest] = texts;
  const members = [];
  for (let at = 0; at < rest.length; at += 3) {
    members.push({ name: rest[at], identity: rest[at + 1], isAdmin: rest[at + 2] === '1' });
  }
  return made(Roster, {
    file, group, id, epoch: BigInt(epoch), digest, previous: previous || undefined, owner, signingOwner, signer,
    members,
  });
}

const partsOf = (roster) => partOf(roster, Roster);
const identityOf = (text) => PublicIdentity.parse(text);

export class Roster {
  constructor() {
    throw new TypeError('Roster.read makes rosters');
  }

  static async read(file, options) {
    checkOptions(options, ['owner']);
    const { owner } = options ?? {};
    if (typeof owner !== 'string' && !(owner instanceof PublicIdentity)) {
      throw argument('owner is the identity of the owner');
    }
    const own = fileOf(file);
    return rosterOf(own, await attemptLater(() => module.read(own, String(owner))));
  }

  async readNext(file, options) {
    checkOptions(options, ['allowGap']);
    const allowGap = optionOf(options, 'allowGap', 'boolean') ?? false;
    const [held, own] = [partsOf(this).file, fileOf(file)];
    return rosterOf(own, await attemptLater(() => module.readNext(held, own, allowGap)));
  }

  get group() {
    return partsOf(this).group;
  }

  get id() {
    return partsOf(this).id;
  }

  get epoch() {
    return partsOf(this).epoch;
  }

  get digest() {
    return partsOf(this).digest;
  }

  get previous() {
    return partsOf(this).previous;
  }

  get owner() {
    return identityOf(partsOf(this).owner);
  }

  get signingOwner() {
    return identityOf(partsOf(this).signingOwner);
  }

  get signer() {
    return identityOf(partsOf(this).signer);
  }

  get members() {
    return partsOf(this).members.map((it) => ({ ...it, identity: identityOf(it.identity) }));
  }

  recipients() {
    return new Recipients(partsOf(this).members.map((it) => it.identity));
  }

  toString() {
    return new TextDecoder().decode(partsOf(this).file);
  }
}
