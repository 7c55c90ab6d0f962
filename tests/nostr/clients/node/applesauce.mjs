// applesauce-signers: `NostrConnectSigner`, over the pool of applesauce-relay.

import { RelayPool } from 'applesauce-relay';
import { NostrConnectSigner, PrivateKeySigner } from 'applesauce-signers';

const options = (key) => ({ pool: new RelayPool(), signer: PrivateKeySigner.fromKey(key), onAuth() {} });

export async function connect({ uri, key }) {
  const permissions = NostrConnectSigner.buildSigningPermissions([1]);
  return sessionOf(await NostrConnectSigner.fromBunkerURI(uri, { ...options(key), permissions }));
}

/** The library sends `connect` with the old secret before its first request. */
export async function resume({ uri, key }) {
  const { remote, relays, bunkerSecret } = NostrConnectSigner.parseBunkerURI(uri);
  return sessionOf(new NostrConnectSigner({ relays, remote, bunkerSecret, ...options(key) }));
}

export function uri({ relays, key, name }) {
  const signer = new NostrConnectSigner({ relays, ...options(key) });
  const ready = signer.waitForSigner(AbortSignal.timeout(60_000));
  ready.catch(() => {});
  const wait = async () => {
    await ready;
    return sessionOf(signer);
  };
  return { uri: signer.getNostrConnectURI({ name, permissions: ['sign_event:1'] }), wait };
}

/** The library makes an error with the signer's text, and has others for what it finds itself. */
const OWN = /^(Missing|Invalid|Closed|Aborted|Remote signer returned)/;
export const refusal = (error) => (OWN.test(error?.message) ? undefined : error?.message);

function sessionOf(signer) {
  const query = signer.relays.map((relay) => `relay=${encodeURIComponent(relay)}`).join('&');
  return {
    bunker: `bunker://${signer.remote}?${query}`,
    getPublicKey: () => signer.getPublicKey(),
    ping: () => signer.ping(),
    signEvent: (draft) => signer.signEvent(draft),
    encrypt: (scheme, peer, text) => signer[`${scheme}Encrypt`](peer, text),
    decrypt: (scheme, peer, text) => signer[`${scheme}Decrypt`](peer, text),
    switchRelays: () => signer.switchRelays(),
    logout: () => signer.logout(),
    call: (method, params) => signer.makeRequest(method, params),
  };
}
