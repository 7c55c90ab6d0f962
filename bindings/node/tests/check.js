// Tests that Node, Bun, Deno and browsers run: cases and what they check.

export const cases = [];

export function test(name, run) {
  cases.push({ name, run });
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const text = (value) =>
  JSON.stringify(value, (_, it) => (it === undefined ? 'undefined' : it instanceof Uint8Array ? hex(it) : it));

export function ok(value, message = 'not true') {
  if (!value) throw new Error(message);
}

/** Compares values without methods, and bytes. */
export function equal(actual, expected, message = 'not equal') {
  const [a, b] = [text(actual), text(expected)];
  if (a !== b) throw new Error(`${message}: ${a.slice(0, 300)} and ${b.slice(0, 300)}`);
}

export function sameBytes(actual, expected, message = 'other bytes') {
  const same = actual.length === expected.length && actual.every((byte, at) => byte === expected[at]);
  ok(same, message);
}

/** Returns the error of a call or a promise, which must fail. */
export async function failure(work) {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

export async function allOf(readable) {
  const pieces = [];
  const reader = readable.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Runs work as in a page without a secure context, which has no `crypto.subtle`. */
export async function withoutWebCrypto(work) {
  Object.defineProperty(crypto, 'subtle', { value: undefined, configurable: true });
  try {
    ok(crypto.subtle === undefined);
    return await work();
  } finally {
    delete crypto.subtle;
    ok(crypto.subtle.encrypt);
  }
}
