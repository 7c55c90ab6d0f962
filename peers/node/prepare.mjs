// Makes what `npm ci` installed ready for this machine; `cargo xtask peers node` runs it.
//
// The native build of @wireapp/core-crypto asks for glibc 2.38. Where an older one is, a copy that
// asks for less takes its place; the module that loads it looks for it beside itself and nowhere
// else. `npm ci` brings the original back. See elf-versions.mjs for what is changed.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { glibcWanted, isOlder, lowered } from './elf-versions.mjs';

const LIBRARY = 'node_modules/@wireapp/core-crypto/dist/native/libcore_crypto_ffi.so';

/** Replaces the library if glibc is too old for it; says what was done. */
function prepare() {
  const { glibcVersionRuntime: glibc } = process.report.getReport().header;
  if (process.platform !== 'linux' || process.arch !== 'x64' || glibc === undefined) {
    return 'left as it is: only that for x86-64 Linux with glibc can be changed';
  }
  const path = fileURLToPath(new URL(LIBRARY, import.meta.url));
  const library = readFileSync(path);
  const wanted = glibcWanted(library);
  if (!isOlder(glibc, wanted)) {
    return `left as it is: it asks for glibc ${wanted}, and here is ${glibc}`;
  }
  // A rename, because a peer that runs may have the old file mapped.
  writeFileSync(`${path}.new`, lowered(library, glibc));
  renameSync(`${path}.new`, path);
  return `asked for glibc ${wanted}, and here is ${glibc}: changed`;
}

let outcome;
try {
  outcome = prepare();
} catch (error) {
  // The peer leaves the subject out and says why; the others do not need it.
  outcome = `cannot be used here: ${error.message}`;
}
console.log(`the library of @wireapp/core-crypto: ${outcome}`);
