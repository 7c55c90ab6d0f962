// NDK's signer of NIP-46 in place of ours, to try the clients and these tests: `node stand-in.mjs STATE
// RELAY…`. Lines of JSON in and out, as signers.py writes them. STATE is a file that outlives a kill.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import NDK, { NDKNip46Backend, NDKPrivateKeySigner } from '@nostr-dev-kit/ndk';
import WebSocket from 'ws';

console.log = console.info = console.debug = console.error;
globalThis.WebSocket ??= WebSocket;

const [path, ...relays] = process.argv.slice(2);
const state = load();

function load() {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { key: NDKPrivateKeySigner.generate().privateKey, invites: {}, apps: {} };
  }
}

function save() {
  writeFileSync(`${path}.new`, JSON.stringify(state));
  renameSync(`${path}.new`, path);
}

const signer = new NDKPrivateKeySigner(state.key);
const ndk = new NDK({ explicitRelayUrls: relays, enableOutboxModel: false });
await ndk.connect(5000);

const FREE = ['connect', 'ping', 'switch_relays'];

/** Says if an app may; of an event to sign, its kind is asked for. */
async function permit({ pubkey, method, params }) {
  const allowed = state.apps[pubkey]?.allow;
  const what = method === 'sign_event' ? `sign:${params.kind}` : method;
  return allowed !== undefined && (FREE.includes(method) || allowed.includes(what));
}

const backend = new NDKNip46Backend(ndk, signer, permit, relays);
backend.applyToken = async (pubkey, token) => {
  const invite = state.invites[token];
  if (!invite || (invite.app ?? pubkey) !== pubkey) {
    throw new Error('not a secret of this signer');
  }
  invite.app = pubkey;
  state.apps[pubkey] = { name: invite.name, allow: invite.allow };
  save();
};
/** Forgets apps, and the secrets with which they came: applesauce connects again by its own accord. */
function forget(gone) {
  const kept = ([app]) => !gone.includes(app);
  state.apps = Object.fromEntries(Object.entries(state.apps).filter(kept));
  const open = ([, invite]) => !gone.includes(invite.app);
  state.invites = Object.fromEntries(Object.entries(state.invites).filter(open));
  save();
}

backend.setStrategy('logout', {
  async handle(_, id, pubkey) {
    forget([pubkey]);
    return 'ack';
  },
});
// The backend would close its connections after announcing its relays, although they are unchanged.
backend.rpc.updateRelays = () => {};
await backend.start();
while (![...backend.rpc.pool.relays.values()].every((it) => it.connected)) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}

const { pubkey: user } = await signer.user();
const orders = {
  invite({ name, allow }) {
    const token = Math.random().toString(36).slice(2);
    state.invites[token] = { name, allow };
    save();
    const query = relays.map((relay) => `relay=${encodeURIComponent(relay)}`).join('&');
    return { uri: `bunker://${user}?${query}&secret=${token}` };
  },
  async connect({ uri, name, allow }) {
    const url = new URL(uri);
    state.apps[url.hostname] = { name, allow };
    save();
    await backend.rpc.sendResponse('connect', url.hostname, url.searchParams.get('secret'));
    return {};
  },
  revoke({ name }) {
    forget(Object.keys(state.apps).filter((app) => state.apps[app].name === name));
    return {};
  },
};

save();
process.stdout.write(`${JSON.stringify({ ok: true, user })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ ok: true, ...(await orders[order.do](order)) })}\n`);
}
process.exit(0);
