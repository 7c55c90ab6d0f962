// Which versions of the packages of this peer are installed.

import { readFileSync } from 'node:fs';

/** The versions of the named packages, for the answer to `hello`. */
export function versions(...names) {
  return Object.fromEntries(names.map((name) => [name, version(name)]));
}

function version(name) {
  const manifest = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}
