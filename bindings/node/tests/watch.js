// Looks for secrets in the memory of a WebAssembly module. It is imported before the package.

let exported;
/** All random bytes that the module has drawn. */
export const drawn = [];
/** A function of the module whose memory is looked into. */
let wanted;

const noted = (instance) => {
  if (wanted in instance.exports) exported = instance.exports;
};
const { Instance, instantiate } = WebAssembly;
WebAssembly.instantiate = async (...given) => {
  const result = await instantiate(...given);
  noted(result.instance ?? result);
  return result;
};
WebAssembly.Instance = class extends Instance {
  constructor(...given) {
    super(...given);
    noted(this);
  }
};
const { getRandomValues } = crypto;
crypto.getRandomValues = (array) => {
  getRandomValues.call(crypto, array);
  drawn.push(array.slice());
  snapshot();
  return array;
};

/** Chooses the module by the name of one of its functions. */
export function lookInto(name) {
  wanted = name;
}

/** What the module exports. */
export const exportsOf = () => exported;

const memory = () => new Uint8Array(exported.memory.buffer);

const LENGTH = 8;
/** Words below this may be addresses and lengths of the allocator. */
const ADDRESS = 1 << 27;

/** Windows of 8 bytes, none of which is zero, at multiples of 4, or at all offsets. */
function* windows(bytes, everywhere) {
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4 + LENGTH);
  padded.set(bytes);
  const words = new Uint32Array(padded.buffer);
  const view = new DataView(padded.buffer);
  for (let word = 0; word + 2 < words.length; word += 1) {
    if (words[word] < ADDRESS && words[word + 1] < ADDRESS) continue;
    const first = 4 * word;
    const last = everywhere ? Math.min(first + 3, bytes.length - LENGTH) : first;
    for (let at = first; at <= last; at += 1) {
      let length = 0;
      while (length < LENGTH && padded[at + length] !== 0) length += 1;
      if (length === LENGTH) yield view.getBigUint64(at);
    }
  }
}

/** Contents of the memory, before there were secrets and while there are. */
const [before, secrets] = [new Set(), new Map()];
let watched = false;

/** From now on, or no longer, all that `snapshot` finds is a secret. */
export function watch(isWatched) {
  watched = isWatched;
}

/** What is in the memory now is no secret. */
export function begin() {
  for (const window of windows(memory(), true)) before.add(window);
}

export function add(name, bytes) {
  for (const window of windows(bytes, true)) if (!before.has(window)) secrets.set(window, name);
}

/** What is in the memory now is a secret, or made from one. */
export function snapshot() {
  if (watched && exported) for (const window of windows(memory(), false)) if (!before.has(window)) secrets.set(window, 'a snapshot');
}

/** Names of the secrets that are still there. */
export function left() {
  const found = new Map();
  for (const window of windows(memory(), true)) {
    const name = secrets.get(window);
    if (name) found.set(name, (found.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(found);
}

/** Number of windows of secrets that are known. */
export const known = () => secrets.size;

/** True if all of the memory is zeros. */
export const isWiped = () => memory().every((byte) => byte === 0);
