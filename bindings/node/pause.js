// Turns of other tasks of the thread.

/** Those of the runtime: tests replace them by ones that wait for the test. */
const { setImmediate, MessageChannel } = globalThis;

/** Ends when other tasks had their turn. Timers of browsers wait for 4 ms. */
export function pause() {
  if (setImmediate) return new Promise((next) => setImmediate(next));
  const { port1, port2 } = new MessageChannel();
  const turn = new Promise((next) => {
    port1.onmessage = next;
  });
  port2.postMessage(undefined);
  return turn.then(() => port1.close());
}

/** Number of pieces of content after which other tasks have their turn. */
const TURN = 4;

/** Pauses behind a piece with such a number, counted from 1. */
export async function turn(number) {
  if (number % TURN === 0) await pause();
}
