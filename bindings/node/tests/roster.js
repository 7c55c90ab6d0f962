// Rosters: the vectors of docs/spec/roster.md.

import { EndsealError, Identity, PublicIdentity } from 'endseal';
import { Roster } from 'endseal/roster';

import { equal, failure, ok, test } from './check.js';
import { read as readFile } from './files.js';

const other = Identity.generate().public;

/** Reads a roster of the owner who vouches for it: one of those that it names. */
async function read(text) {
  const named = new Set([...text.split(/\s/).filter((it) => it.startsWith('endseal1')), String(other)]);
  let refused;
  for (const owner of named) {
    try {
      return await Roster.read(text, { owner });
    } catch (error) {
      if (error.code !== 'argument') refused = error;
    }
  }
  throw refused;
}

const hex = (bytes) => Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('');

test('every vector of rosters', async () => {
  let [accepted, refused, persons] = [0, 0, 0];
  for (const vector of JSON.parse(new TextDecoder().decode(await readFile('roster_vectors.json')))) {
    if (vector.kind === 'person') {
      // Records of a node, which reads them by further rules.
      persons += 1;
      continue;
    }
    const work = async () =>
      vector.previous === undefined
        ? read(vector.roster)
        : (await read(vector.previous)).readNext(vector.roster);
    const roster = await work().catch((error) => error);
    if (roster instanceof Error) {
      equal(roster.code ?? String(roster), vector.expect, vector.name);
      refused += 1;
      continue;
    }
    equal('ok', vector.expect, vector.name);
    const { group, id, epoch, digest } = roster;
    // Numbers of JSON are exact up to 2^53.
    equal([group, id, Number(epoch), digest], [vector.group, vector.id, vector.epoch, vector.digest], vector.name);
    for (const [name, as] of [['owner', 'owner'], ['signing_owner', 'signingOwner'], ['signer', 'signer']]) {
      equal(hex(roster[as].key), vector[name], vector.name);
    }
    const { members } = roster;
    equal([members.length, roster.recipients().size], [vector.members, vector.members], vector.name);
    equal(members.filter((it) => it.isAdmin).map((it) => it.name).join(' '), vector.admins, vector.name);
    ok(members.every((it) => it.identity instanceof PublicIdentity));
    equal(String(roster), vector.roster);
    accepted += 1;
  }
  console.log(`${accepted + refused} vectors: ${accepted} accepted, ${refused} refused`);
  equal([accepted, refused, persons], [14, 149, 29]);
});

test('a roster needs its owner', async () => {
  const fails = async (work, code) => {
    const error = await failure(work);
    ok(error instanceof EndsealError, String(error));
    equal(error.code, code, error.message);
  };
  const vectors = JSON.parse(new TextDecoder().decode(await readFile('roster_vectors.json')));
  const { roster: text } = vectors.find((it) => it.name === 'first.json');
  await fails(() => Roster.read(text, { owner: other }), 'owner');
  await fails(() => Roster.read(text), 'argument');
  await fails(() => Roster.read(text, { owner: 'endseal1wrong' }), 'argument');
  await fails(() => Roster.read(text, { owner: other, as: 5 }), 'argument');
  await fails(() => Roster.read(5, { owner: other }), 'argument');
  const roster = await read(text);
  await fails(() => roster.readNext(text, { allowGap: true }), 'same');
  await fails(() => roster.readNext(text, { allowGap: 1 }), 'argument');
  ok((await failure(() => new Roster())) instanceof TypeError);
  const changed = new TextEncoder().encode(text);
  changed[changed.length - 20] ^= 1;
  const { code } = await failure(() => Roster.read(changed, { owner: roster.owner }));
  ok(['signature', 'form'].includes(code), code);
});
