// The error of all calls.

export class EndsealError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'EndsealError';
    this.code = code;
  }
}

/** The error of the module, which writes the code before the text. */
export function failure(error) {
  const [, code, message] = /^([a-z0-9-]+): ([^]*)$/.exec(error?.message ?? error) ?? [];
  return code ? new EndsealError(code, message) : error;
}
