// Types of endseal/nostr and endseal/roster: compiled, not run.

import { EndsealError, Identity, seal, type Bytes, type PublicIdentity } from 'endseal';
import { NostrKey, RemoteSigner, publicKey, verifyEvent, type Event, type Rumor } from 'endseal/nostr';
import { Roster } from 'endseal/roster';

export async function messages(key: NostrKey, peer: string): Promise<Rumor> {
  const text: string = await key.decrypt(peer, await key.encrypt(publicKey(peer), 'text'));
  const event: Event = await key.sign({ kind: 1, content: text, tags: [['t', 'x']] });
  await verifyEvent(event);
  const { copies } = await key.wrap({ kind: 7, content: '+' }, { to: [peer], expiresAfterMs: 1 });
  const first = copies[0];
  if (first === undefined) throw new EndsealError('argument', 'no copy');
  const { rumor, expiration } = await key.unwrap(first.event);
  expiration?.getTime();
  // @ts-expect-error the author is not an option
  await key.wrap('text', { to: [peer], from: key });
  // @ts-expect-error keys are not made from bytes
  new NostrKey();
  return rumor;
}

export async function remote(uri: string): Promise<string> {
  using key = NostrKey.generate();
  using signer = await RemoteSigner.connect(uri, { key, WebSocket, onAuthUrl: (url: string) => void url });
  // @ts-expect-error a key is needed
  await RemoteSigner.connect(uri, {});
  const { uri: shown, signer: coming } = RemoteSigner.invite({ key, relays: ['wss://example.org'] });
  if (shown === '') (await coming).close();
  // @ts-expect-error relays are needed
  RemoteSigner.invite({ key });
  const { code }: EndsealError = new EndsealError('refused', '');
  return code === 'refused' ? (await signer.sign({ kind: 1 })).sig : signer.publicKey;
}

export async function group(file: Uint8Array, owner: PublicIdentity, from: Identity): Promise<Bytes> {
  const roster = await (await Roster.read(file, { owner })).readNext(file, { allowGap: true });
  const epoch: bigint = roster.epoch;
  // @ts-expect-error an owner is needed
  await Roster.read(file);
  return seal(`${epoch}`, { from, to: roster.recipients(), context: 'example.org' });
}
