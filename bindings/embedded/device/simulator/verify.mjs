// Checks the signature of the event on standard input with nostr-tools: `node verify.mjs PUBLIC_KEY`.
import { readFileSync } from 'node:fs';
import { verifyEvent } from 'nostr-tools/pure';

const event = JSON.parse(readFileSync(0, 'utf8'));
if (event.pubkey !== process.argv[2] || !verifyEvent(event)) {
  process.exit(1);
}
