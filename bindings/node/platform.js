// The native module of this platform: beside this file, or in a package of its own.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

function load() {
  const platform = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
  for (const path of ['./endseal.node', `@endseal/${platform}`]) {
    try {
      return require(path);
    } catch (error) {
      // A module that is there and does not load is for another C library.
      if (!['MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED'].includes(error.code)) throw error;
    }
  }
  return undefined;
}

export const native = load();
