// NDK's signer of NIP-46 for the case `bunker_sign`: `node bunker.mjs --relay URL` prints a line with
// its URL and serves until standard input ends. Every client may do everything.

import { parseArgs } from 'node:util';
import NDK, { NDKNip46Backend, NDKPrivateKeySigner } from '@nostr-dev-kit/ndk';
import WebSocket from 'ws';

// Standard output is for the line alone, whatever the package has to say.
console.log = console.info = console.debug = console.error;
// Node.js has a WebSocket of its own from version 22.
globalThis.WebSocket ??= WebSocket;

const { relay } = parseArgs({ options: { relay: { type: 'string' } } }).values;
// Verifying each request is left to the backend, which does so.
const ndk = new NDK({
  explicitRelayUrls: [relay], enableOutboxModel: false, initialValidationRatio: 0,
  lowestValidationRatio: 0,
});
await ndk.connect(5000);
const signer = NDKPrivateKeySigner.generate();
const backend = new NDKNip46Backend(ndk, signer, async () => true, [relay]);
backend.applyToken = async () => {};
await backend.start();
// Publishing has a connection of its own.
while (![...backend.rpc.pool.relays.values()].every((it) => it.connected)) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const { pubkey } = await signer.user();
const bunker = `bunker://${pubkey}?relay=${encodeURIComponent(relay)}`;
process.stdout.write(`${JSON.stringify({ ok: true, bunker })}\n`);
process.stdin.resume().on('end', () => process.exit(0));
