// nostr-tools: `BunkerSigner`. An older version is installed by another name, with the version behind it.

import WebSocket from 'ws';

const [version] = process.argv.slice(3);
const library = version ? `nostr-tools-${version}` : 'nostr-tools';
const { getPublicKey } = await import(`${library}/pure`);
const { BunkerSigner, createNostrConnectURI, parseBunkerInput, toBunkerURL } = await import(`${library}/nip46`);
const { SimplePool, useWebSocketImplementation } = await import(`${library}/pool`);

useWebSocketImplementation?.(WebSocket);

const bytes = (key) => Uint8Array.from(Buffer.from(key, 'hex'));
/** Is called with the page that a signer names. */
let named = () => {};
const onauth = (url) => named(url);
const params = () => ({ pool: new SimplePool({ enableReconnect: true }), onauth });

export async function connect(given) {
  const session = await resume(given);
  await session.signer.connect({ name: 'endseal', url: 'https://endseal.example' });
  return session;
}

export async function resume({ uri, key }) {
  const pointer = await parseBunkerInput(uri);
  if (!pointer) {
    throw new Error(`not understood: ${uri}`);
  }
  const made = BunkerSigner.fromBunker ?? ((...given) => new BunkerSigner(...given));
  return sessionOf(made(bytes(key), pointer, params()));
}

export function uri({ relays, key, name }) {
  const secret = Math.random().toString(36).slice(2);
  const clientPubkey = getPublicKey(bytes(key));
  const link = createNostrConnectURI({ clientPubkey, relays, secret, name, perms: ['sign_event:1'] });
  // The library listens from here on, and answers to the signer before a caller waits.
  const signer = BunkerSigner.fromURI(bytes(key), link, params(), 60_000);
  signer.catch(() => {});
  return { uri: link, wait: async () => sessionOf(await signer) };
}

/** The library rejects with the text of the signer's error. */
export const refusal = (error) => (typeof error === 'string' ? error : undefined);

function sessionOf(signer) {
  return {
    signer,
    bunker: toBunkerURL?.(signer.bp),
    getPublicKey: () => signer.getPublicKey(),
    ping: () => signer.ping(),
    signEvent: (draft) => signer.signEvent(draft),
    encrypt: (scheme, peer, text) => signer[`${scheme}Encrypt`](peer, text),
    decrypt: (scheme, peer, text) => signer[`${scheme}Decrypt`](peer, text),
    switchRelays: signer.switchRelays && (() => signer.switchRelays()),
    logout: signer.logout && (() => signer.logout()),
    call: (method, given) => signer.sendRequest(method, given),
    page: () => new Promise((done) => { named = done; }),
  };
}
