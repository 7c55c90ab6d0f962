// NDK: `NDKNip46Signer`. An older version is installed by another name, with the version behind it.

const [version] = process.argv.slice(3);
const {
  default: NDK, NDKEvent, NDKNip46Signer, NDKPrivateKeySigner, NDKUser,
} = await import(version ? `ndk-${version}` : '@nostr-dev-kit/ndk');

const local = (key) => new NDKPrivateKeySigner(key);
const kit = () => new NDK({ explicitRelayUrls: [], enableOutboxModel: false });

export async function connect({ uri, key }) {
  const ndk = kit();
  const given = [ndk, uri, local(key)];
  const signer = NDKNip46Signer.bunker?.(...given) ?? new NDKNip46Signer(...given);
  await signer.blockUntilReady();
  return sessionOf(ndk, signer);
}

/** As an application starts again: what `toPayload` had kept, and no `connect`; by `connect` before NDK 2.14. */
export async function resume({ uri, key }) {
  if (!NDKNip46Signer.fromPayload) {
    return connect({ uri, key });
  }
  const ndk = kit();
  const url = new URL(uri);
  const localSignerPayload = local(key).toPayload();
  const payload = {
    bunkerPubkey: url.hostname, relayUrls: url.searchParams.getAll('relay'), localSignerPayload,
  };
  const signer = await NDKNip46Signer.fromPayload(JSON.stringify({ type: 'nip46', payload }), ndk);
  await signer.startListening();
  return sessionOf(ndk, signer);
}

export function uri({ relays, key, name }) {
  const ndk = kit();
  const signer = NDKNip46Signer.nostrconnect(ndk, relays[0], local(key), { name, perms: 'sign_event:1' });
  const ready = signer.blockUntilReady();
  ready.catch(() => {});
  const wait = async () => {
    await ready;
    return sessionOf(ndk, signer);
  };
  return { uri: signer.nostrConnectUri, wait };
}

/** The library rejects with the text of the signer's error. */
export const refusal = (error) => (typeof error === 'string' ? error : undefined);

function sessionOf(ndk, signer) {
  const { bunkerPubkey, relayUrls } = signer;
  const query = relayUrls.map((relay) => `relay=${encodeURIComponent(relay)}`).join('&');
  const call = (method, params) => new Promise((resolve, reject) => {
    const settle = ({ result, error }) => (error ? reject(error) : resolve(result));
    signer.rpc.sendRequest(bunkerPubkey, method, params, 24133, settle).catch(reject);
  });
  /** NDK 2.10 has a method for each scheme. */
  const cipher = (way) => (scheme, pubkey, text) => {
    const named = signer[`${scheme}${way === 'encrypt' ? 'Encrypt' : 'Decrypt'}`];
    return (named ?? signer[way]).call(signer, new NDKUser({ pubkey }), text, scheme);
  };
  return {
    bunker: `bunker://${bunkerPubkey}?${query}`,
    async getPublicKey() {
      signer.userPubkey ??= await call('get_public_key', []);
      return signer.userPubkey;
    },
    async signEvent(draft) {
      const pubkey = signer.userPubkey ?? (await call('get_public_key', []));
      signer.userPubkey = pubkey;
      signer._user ??= new NDKUser({ pubkey });
      const event = new NDKEvent(ndk, { ...draft, pubkey });
      await event.sign(signer);
      return event.rawEvent();
    },
    encrypt: cipher('encrypt'),
    decrypt: cipher('decrypt'),
    switchRelays: signer.switchRelays && (() => signer.switchRelays()),
    call,
  };
}
