import { EndsealError } from './index.js';
export { EndsealError };

/** An event that has no author yet. `created_at` is the present unless it is there. */
export interface EventTemplate {
  kind: number;
  /** Seconds since 1970. */
  created_at?: number;
  tags?: string[][];
  content?: string;
  /** Author: no other key signs it. */
  pubkey?: string;
}

/** An unsigned event, as private messages are. */
export interface Rumor {
  id: string;
  pubkey: string;
  /** Seconds since 1970. */
  created_at: number;
  kind: number;
  tags: string[][];
  content: string;
}

/** A signed event. Its members are claims until it was verified. */
export interface Event extends Rumor {
  sig: string;
}

/** A secret key, which cannot be read. `dispose`, or `using`, wipes it. Public keys are `npub1…` or
 * hexadecimal digits, and are returned as digits. */
export class NostrKey implements Disposable {
  private constructor();
  static generate(): NostrKey;
  /** Opens an `ncryptsec1…` (NIP-49). Its cost is in it: above `maxLogN`, which is 18 (256 MiB) unless
   * you give another, the code is `limit`. */
  static unlock(
    ncryptsec: string,
    passphrase: string,
    options?: { maxLogN?: number },
  ): Promise<NostrKey>;
  /** Returns an `ncryptsec1…`. The cost `logN` is 16 (64 MiB) to 22. */
  lock(passphrase: string, options?: { logN?: number }): Promise<string>;
  readonly publicKey: string;
  /** Encrypts a text (NIP-44, version 2). */
  encrypt(peer: string, text: string): Promise<string>;
  /** Decrypts a text. Nothing says which of both keys encrypted it: verify the event around it. */
  decrypt(peer: string, payload: string): Promise<string>;
  sign(event: EventTemplate): Promise<Event>;
  /** Wraps a private message (NIP-17): a text, or an event of another kind than 14. Publish each copy
   * at the relays of its receiver; the last is your own. `rumor` is what you keep. */
  wrap(
    message: string | EventTemplate,
    options: {
      to: Iterable<string>;
      /** Relays pass it on and forget it. */
      ephemeral?: boolean;
      /** Relays may delete it after this time, and up to two days more. */
      expiresAfterMs?: number;
    },
  ): Promise<{ rumor: Rumor; copies: { receiver: string; event: Event }[] }>;
  /** Opens a wrap. `rumor.pubkey` has signed it; kind and tags are yours to judge. Remember `rumor.id`
   * to notice one that comes again. */
  unwrap(event: Event | string): Promise<{
    rumor: Rumor;
    /** Time after which it should not be shown. */
    expiration: Date | undefined;
    ephemeral: boolean;
  }>;
  /** Wipes the key, as soon as no call uses it. Every later call fails. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Returns the hexadecimal digits of `npub1…` or of such digits. */
export function publicKey(text: string): string;
/** Checks id and signature: the codes are `event` and `authentication`. */
export function verifyEvent(event: Event | string): Promise<void>;

export interface RemoteSignerOptions {
  /** Key of this app, by which the signer knows it again: keep it. */
  key: NostrKey;
  /** Name of this app, which the signer shows. */
  name?: string;
  /** Permissions to ask for: `sign_event:1`, `nip44_encrypt`. */
  permissions?: Iterable<string>;
  /** Greatest time for an answer: 70 seconds. If the signer shows a page, five minutes. */
  timeoutMs?: number;
  /** Accepts `ws://` relays of other machines: who is on the way sees which keys communicate. */
  allowInsecure?: boolean;
  /** Shows a page on which a person decides. The URL is of the signer. */
  onAuthUrl?: (url: string) => void;
  /** A class as `WebSocket` of browsers, where the runtime has none, as in Node 20. */
  WebSocket?: new (url: string) => object;
}

/** A signer that holds the user's key (NIP-46). `close` ends its connections. The codes of its errors
 * are `refused` (by the signer), `timeout`, `relay`, `closed` and `event`. */
export class RemoteSigner implements Disposable {
  private constructor();
  /** Connects to the signer of a `bunker://` URI, over its relays. */
  static connect(uri: string, options: RemoteSignerOptions): Promise<RemoteSigner>;
  /** Invites a signer: show `uri` to the person, who gives it to the signer. `signer` is there when that
   * has come; `close` ends the wait. */
  static invite(options: RemoteSignerOptions & { relays: Iterable<string> }): {
    readonly uri: string;
    readonly signer: Promise<RemoteSigner>;
    close(): void;
  };
  /** The user's public key. */
  readonly publicKey: string;
  /** Has an event signed, and verifies that it is this one. */
  sign(event: EventTemplate): Promise<Event>;
  /** Has a text encrypted (NIP-44). */
  encrypt(peer: string, text: string): Promise<string>;
  decrypt(peer: string, payload: string): Promise<string>;
  ping(): Promise<void>;
  /** Sends any request, and returns its result. */
  request(method: string, params?: Iterable<string>): Promise<string>;
  /** Ends this app at the signer, and closes. */
  logout(): Promise<void>;
  close(): void;
  [Symbol.dispose](): void;
}

export const backend: { readonly kind: 'native' | 'wasm' };
