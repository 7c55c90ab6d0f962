// Lines of a stream, as the benchmark peer protocol has them.

/** Length from which a line is too long, in bytes. */
const LINE_LIMIT = 1 << 20;

/**
 * The lines of a stream, in bounded memory: `null` stands for one that is too long. What follows
 * the last line end is no line.
 */
export async function* lines(stream) {
  let parts = [];
  let length = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      length += end - start;
      parts.push(chunk.subarray(start, end));
      yield length >= LINE_LIMIT ? null : Buffer.concat(parts);
      [parts, length, start] = [[], 0, end + 1];
    }
    length += chunk.length - start;
    parts = length >= LINE_LIMIT ? [] : [...parts, chunk.subarray(start)];
  }
}
