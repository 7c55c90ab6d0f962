// `seed-noble` as a reader has it, who gets a message as text: the JSON of all its wrapped keys is
// parsed at each opening, which the published times leave out. Sealing is that of `seed-noble`, to
// which the writing of the JSON adds less than a hundredth.
//
// Follows https://github.com/aaronp/merits/blob/b78bc5b0345d7aa99c51e71f110b4b6947a45674/
// cli/lib/crypto-group.ts.

import noble from './seed-noble.mjs';

export default {
  ...noble,
  subject: 'seed-noble-json',
  about: 'seed-noble opening a message from its JSON, as it arrives; many: Promise.all',
  cases: ['open', 'open_many'],
  steps: undefined,
  deliver: (_group, _index, message) => JSON.stringify(message),
  open: (group, index, text) => noble.open(group, index, JSON.parse(text)),
  tamper: (text) => JSON.stringify(noble.tamper(JSON.parse(text))),
};
