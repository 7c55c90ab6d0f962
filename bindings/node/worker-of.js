// Workers, in browsers and Deno, and in Node and Bun.

/** The worker of a page: it gets one message and answers it. */
export function ofPage(started) {
  const answer = new Promise((resolve, reject) => {
    started.onmessage = ({ data }) => resolve(data);
    started.onmessageerror = reject;
    started.onerror = (event) => {
      event.preventDefault();
      reject(event);
    };
  });
  return { answer, post: (message) => started.postMessage(message), close: () => started.terminate() };
}

/** The same in Node and Bun. */
export function ofNode(started) {
  const answer = new Promise((resolve, reject) => {
    for (const failure of ['error', 'messageerror', 'exit']) started.once(failure, reject);
    started.once('message', resolve);
  });
  return { answer, post: (message) => started.postMessage(message), close: () => started.terminate() };
}

/** Asks a worker. Returns nothing if none can be started. */
export async function ask(start, message) {
  let worker;
  try {
    worker = start();
    worker.post(message);
    return await worker.answer;
  } catch {
    // A content security policy, a bundler without the file, a service worker.
    return undefined;
  } finally {
    worker?.close();
  }
}
