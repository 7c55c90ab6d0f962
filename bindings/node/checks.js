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

/** What the module has of the objects of this package. No object has a property with a secret. */
export const parts = new WeakMap();

export function partOf(value, kind, name = 'it') {
  const part = value instanceof kind ? parts.get(value) : undefined;
  if (!part) throw argument(`${name} is an object of ${kind.name}`);
  return part;
}

export function made(kind, part) {
  const object = Object.create(kind.prototype);
  parts.set(object, part);
  return object;
}
