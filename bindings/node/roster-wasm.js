// The functions of rosters that the native module has, from the WebAssembly module.

import { roster, textsOf, utf8Length } from './memory.js';

const { call, start } = roster;

export const { imports } = roster;

export function moduleOf(instance) {
  start(instance);
  return {
    read: (file, owner) => textsOf(call('roster_read', [utf8Length(owner)], owner, file)),
    readNext: (held, file, allowGap) =>
      textsOf(call('roster_read_next', [held.length, allowGap], held, file)),
  };
}
