// The file of a WebAssembly module.

/** Compiles a URL, bytes, or a module that is compiled already. */
export async function compiled(source) {
  const isFile = typeof source === 'string' || source instanceof URL;
  const given = isFile ? await download(source) : source;
  return given instanceof WebAssembly.Module ? given : WebAssembly.compile(given);
}

async function download(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  const bytes = await response.arrayBuffer();
  // A server may answer with a page in the place of a file that is missing.
  const isWasm = bytes.byteLength >= 4 && new DataView(bytes).getUint32(0) === 0x0061736d;
  if (!isWasm) throw new Error(`${url} is no WebAssembly`);
  return bytes;
}
