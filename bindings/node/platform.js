// The native module of this platform: beside this file, or in a package of its own.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** Address of this file, or of the bundle that it is in: as CommonJS, that has no `import.meta`. */
export const base = import.meta.url ?? pathToFileURL(__filename).href;

const require = createRequire(base);

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
