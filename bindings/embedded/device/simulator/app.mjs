// An app with nostr-tools' NIP-46 client: `node app.mjs BUNKER_URL`. Each line of standard input is
// the content of an event to sign; each line of output is the event, or {"error": …}.
import { createInterface } from 'node:readline';
import { BunkerSigner, parseBunkerInput } from 'nostr-tools/nip46';
import { SimplePool, useWebSocketImplementation } from 'nostr-tools/pool';
import { generateSecretKey } from 'nostr-tools/pure';
import WebSocket from 'ws';

useWebSocketImplementation(WebSocket);
const pointer = await parseBunkerInput(process.argv[2]);
const params = { pool: new SimplePool() };
const signer = BunkerSigner.fromBunker(generateSecretKey(), pointer, params);
await signer.connect();
console.log(JSON.stringify({ user: await signer.getPublicKey() }));
createInterface({ input: process.stdin }).on('line', async (content) => {
  const draft = { kind: 1, created_at: Math.floor(Date.now() / 1000), tags: [], content };
  try {
    console.log(JSON.stringify(await signer.signEvent(draft)));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error?.message ?? error) }));
  }
}).on('close', () => process.exit(0));
