// A client of the past: `node legacy.mjs LIBRARY BUNKER KEY`. It connects, lets an event be signed, and prints the
// event as a line of JSON. These libraries encrypt by NIP-04.

import WebSocket from 'ws';

console.log = console.info = console.debug = console.error;
globalThis.WebSocket ??= WebSocket;

const [, , library, uri, key] = process.argv;
const draft = { kind: 1, created_at: 1_790_000_000, tags: [], content: 'from the past' };

const libraries = {
  async 'nostr-tools-2.7'() {
    const { BunkerSigner, parseBunkerInput } = await import('nostr-tools-2-7/nip46');
    const { SimplePool, useWebSocketImplementation } = await import('nostr-tools-2-7/pool');
    useWebSocketImplementation(WebSocket);
    const pointer = await parseBunkerInput(uri);
    const signer = new BunkerSigner(Uint8Array.from(Buffer.from(key, 'hex')), pointer, { pool: new SimplePool() });
    await signer.connect();
    return signer.signEvent(draft);
  },
  async 'ndk-2.18'() {
    const { default: NDK, NDKNip46Signer, NDKPrivateKeySigner } = await import('ndk-2');
    const ndk = new NDK({ explicitRelayUrls: [], enableOutboxModel: false });
    const signer = NDKNip46Signer.bunker(ndk, uri, new NDKPrivateKeySigner(key));
    await signer.blockUntilReady();
    const call = (method, params) => new Promise((resolve, reject) => {
      const settle = ({ result, error }) => (error ? reject(new Error(error)) : resolve(result));
      signer.rpc.sendRequest(signer.bunkerPubkey, method, params, 24133, settle).catch(reject);
    });
    return JSON.parse(await call('sign_event', [JSON.stringify(draft)]));
  },
};

try {
  const event = await libraries[library]();
  process.stdout.write(`${JSON.stringify({ ok: true, event })}\n`);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ ok: false, message: String(error?.message ?? error) })}\n`);
}
process.exit(0);
