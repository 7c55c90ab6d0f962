// Files beside this one, in every runtime.

const inBrowser = typeof document !== 'undefined';

export async function read(name) {
  const url = new URL(name, import.meta.url);
  if (inBrowser) {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }
  const { readFile } = await import('node:fs/promises');
  return new Uint8Array(await readFile(url));
}
