// A client of a remote signer: `nostr_client.js URI`, or `nostr_client.js --invite RELAY`, which prints
// an invitation first. Prints what the signer did, as JSON. The class `WebSocket` is that of the
// runtime, or of the package that ENDSEAL_WS names.

import process from 'node:process';

import { NostrKey, RemoteSigner, backend, verifyEvent } from 'endseal/nostr';

const given = process.env.ENDSEAL_WS ? { WebSocket: (await import(process.env.ENDSEAL_WS)).default } : {};
const codeOf = (work) => work().then(() => 'ok', (error) => error.code ?? String(error));

const key = NostrKey.generate();
const [uri, relay] = process.argv.slice(2);
const permissions = ['sign_event:1', 'nip44_encrypt', 'nip44_decrypt'];
if (uri === '--invite') {
  const invitation = RemoteSigner.invite({ key, relays: [relay], name: 'test', permissions, ...given });
  console.log(invitation.uri);
  const came = await invitation.signer;
  console.log(JSON.stringify(await came.sign({ kind: 1, content: 'invited' })));
  came.close();
  process.exit(0);
}
const signer = await RemoteSigner.connect(uri, { key, name: 'test', permissions, ...given });
const event = await signer.sign({ kind: 1, content: 'é "\\\n', tags: [['t', 'a"b']] });
await verifyEvent(event);
const peer = NostrKey.generate();
const payload = await signer.encrypt(peer.publicKey, 'at noon');
const back = await signer.decrypt(peer.publicKey, await peer.encrypt(signer.publicKey, 'at one'));
await signer.ping();
const other = NostrKey.generate();
const refused = await codeOf(() => signer.sign({ kind: 4 }));
// Without its secret, a URI is of no use to other clients.
const options = { key: other, timeoutMs: 1_500, ...given };
const unknown = await codeOf(() => RemoteSigner.connect(uri.replace(/&secret=.*/, ''), options));
// The signer knows the key again.
const again = await RemoteSigner.connect(uri, { key, ...given });
const known = again.publicKey === signer.publicKey;
again.close();
const closed = await codeOf(() => again.ping());
const many = await Promise.all(Array.from({ length: 10 }, (_, at) =>
  signer.encrypt(peer.publicKey, `${at}`).then((it) => peer.decrypt(signer.publicKey, it))));
await signer.logout();
console.log(JSON.stringify({
  kind: backend.kind, user: signer.publicKey, event, read: await peer.decrypt(signer.publicKey, payload), back,
  refused, unknown, known, closed, many: many.join(''),
}));
