// A page as a client of the remote signer whose URI is in bunker.txt.

import { NostrKey, RemoteSigner, verifyEvent } from 'endseal/nostr';

import { equal, test } from './check.js';
import { read } from './files.js';

test('the signer answers a page', async () => {
  const uri = new TextDecoder().decode(await read('bunker.txt'));
  const [key, peer] = [NostrKey.generate(), NostrKey.generate()];
  const signer = await RemoteSigner.connect(uri, { key, name: 'page' });
  const event = await signer.sign({ kind: 1, content: 'é "\\\n' });
  await verifyEvent(event);
  equal([event.content, event.pubkey], ['é "\\\n', signer.publicKey]);
  const payload = await signer.encrypt(peer.publicKey, 'at noon');
  equal(await peer.decrypt(signer.publicKey, payload), 'at noon');
  await signer.logout();
});
