// Arguments and errors of all calls.

import { EndsealError, failure } from './error.js';

export function attempt(work) {
  try {
    return work();
  } catch (error) {
    throw failure(error);
  }
}

export async function attemptLater(work) {
  try {
    return await work();
  } catch (error) {
    throw failure(error);
  }
}

export const argument = (message) => new EndsealError('argument', message);

/** An option that is not known would be a check that is not made. */
export function checkOptions(options, names) {
  for (const name of Object.keys(options ?? {})) {
    if (!names.includes(name)) throw argument(`there is no option ${name}: ${names.join(', ')}`);
  }
}

/** An option of a type, or undefined. */
export function optionOf(options, name, type) {
  const value = options?.[name];
  if (value === undefined || typeof value === type) return value;
  throw argument(`${name} is a ${type}`);
}

/** Half of a surrogate pair. It has no UTF-8: another text would be sealed, or opened for this one. */
const HALF = /\p{Cs}/u;

export function textOf(value, name) {
  if (typeof value !== 'string') throw argument(`${name} is a string`);
  if (HALF.test(value)) throw argument(`${name} has half of a surrogate pair`);
  return value;
}

const kindOf = (value) => Object.prototype.toString.call(value).slice('[object '.length, -1);

const lengthOf = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get;

/** True for a buffer of any realm: test runners and frames have others. */
function isBuffer(value) {
  try {
    return lengthOf.call(value) >= 0;
  } catch {
    return false;
  }
}

/** Bytes of any realm, which were not given to another thread. */
export function bytesOf(value, name) {
  const isView = ArrayBuffer.isView(value) && kindOf(value) === 'Uint8Array';
  if (!isView && !isBuffer(value)) throw argument(`${name} is a Uint8Array or an ArrayBuffer`);
  try {
    // A view of such a buffer is empty.
    const all = new Uint8Array(isView ? value.buffer : value);
    return isView ? value : all;
  } catch {
    throw argument(`${name} was transferred`);
  }
}

export const isDate = (value) => kindOf(value) === 'Date';

/** What the module has of the objects of this package. No object has a property with a secret. */
export const parts = new WeakMap();

export function partOf(value, kind, name = 'it') {
  const part = value instanceof kind ? parts.get(value) : undefined;
  if (!part) throw argument(`${name} must be an object of ${kind.name}`);
  return part;
}

export function made(kind, part) {
  const object = Object.create(kind.prototype);
  parts.set(object, part);
  return object;
}
