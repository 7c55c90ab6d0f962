// @welshman/signer: `Nip46Broker` and `Nip46Signer`.

import { Nip46Broker, Nip46Signer } from '@welshman/signer';

export async function connect({ uri, key }) {
  const { broker, session, connectSecret } = opened(uri, key);
  await broker.connect(connectSecret, 'sign_event:1');
  return session;
}

export const resume = async ({ uri, key }) => opened(uri, key).session;

function opened(uri, key) {
  const { relays, signerPubkey, connectSecret } = Nip46Broker.parseBunkerUrl(uri);
  const broker = new Nip46Broker({ relays, clientSecret: key, signerPubkey, connectSecret });
  return { broker, session: sessionOf(broker), connectSecret };
}

export async function uri({ relays, key, name }) {
  const broker = new Nip46Broker({ relays, clientSecret: key });
  const link = await broker.makeNostrconnectUrl({ name, perms: 'sign_event:1' });
  const ready = broker.waitForNostrconnect(link, AbortSignal.timeout(60_000));
  ready.catch(() => {});
  const wait = async () => {
    await ready;
    return sessionOf(broker);
  };
  return { uri: link, wait };
}

/** The library rejects with the signer's answer. */
export const refusal = (error) => (error?.id && error.error ? error.error : undefined);

function sessionOf(broker) {
  const signer = new Nip46Signer(broker);
  return {
    bunker: broker.params.signerPubkey && broker.getBunkerUrl(),
    getPublicKey: () => signer.getPubkey(),
    ping: () => broker.ping(),
    signEvent: (draft) => signer.sign(draft),
    encrypt: (scheme, peer, text) => signer[scheme].encrypt(peer, text),
    decrypt: (scheme, peer, text) => signer[scheme].decrypt(peer, text),
    switchRelays: () => broker.switchRelays(),
    call: (method, params) => broker.send(method, params),
  };
}
