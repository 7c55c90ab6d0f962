/** Stable name of the reason of an error. */
export type Code =
  | 'authentication'
  | 'header'
  | 'limit'
  | 'version'
  | 'suite'
  | 'sender'
  | 'too-old'
  | 'too-new'
  | 'replayed'
  | 'passphrase'
  | 'random'
  | 'argument'
  | 'stopped'
  // Those of endseal/roster.
  | 'form'
  | 'identity'
  | 'order'
  | 'duplicate'
  | 'signature'
  | 'admin'
  | 'owner'
  | 'group'
  | 'rollback'
  | 'same'
  | 'fork'
  | 'gap'
  // Those of endseal/nostr.
  | 'length'
  | 'encoding'
  | 'event'
  | 'kind'
  | 'wrap'
  | 'seal'
  | 'rumor'
  | 'author'
  | 'refused'
  | 'timeout'
  | 'relay'
  | 'closed';

/** Bytes that other functions of the platform take: not of shared memory. */
export type Bytes = ReturnType<Uint8Array['slice']>;

/** A call failed. The text may change, and `code` does not. */
export class EndsealError extends Error {
  constructor(code: Code, message: string);
  readonly code: Code;
}

/** A person's public keys: `endseal1…`, or `endsealpq1…` with the post-quantum key. */
export class PublicIdentity {
  private constructor();
  static parse(text: string): PublicIdentity;
  readonly postQuantum: boolean;
  /** The form without the post-quantum key, which names a person. */
  readonly short: PublicIdentity;
  /** The Ed25519 key (32 bytes). */
  readonly key: Bytes;
  /** True if both are of the same person, also if one of them is the short form. */
  equals(other: PublicIdentity): boolean;
  toString(): string;
  toJSON(): string;
}

/** A person's secret keys, which cannot be read. `dispose`, or `using`, wipes them. */
export class Identity implements Disposable {
  private constructor();
  static generate(): Identity;
  /** Opens the content of an identity file, which takes 64 MiB and about 0.2 s, in WebAssembly half a
   * second in a worker. Without a passphrase for files that were made without one. */
  static unlock(file: Uint8Array | string, passphrase?: string): Promise<Identity>;
  /** Returns an identity file. Write it where only its owner reads, over no other one. */
  lock(passphrase: string): Promise<string>;
  readonly public: PublicIdentity;
  /** Wipes the keys, as soon as no call uses them. Every later call fails. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Recipients of content, prepared once for any number of envelopes. */
export class Recipients {
  constructor(of: Iterable<PublicIdentity | string>);
  readonly size: number;
  /** True if all have a post-quantum key. */
  readonly postQuantum: boolean;
}

export interface SealOptions {
  from: Identity;
  to: Recipients | Iterable<PublicIdentity | string>;
  /** Name of the application and its protocol. Both sides give the same. */
  context: string | Uint8Array;
  /** Time to state. */
  time?: Date;
  /** `hybrid`, with which a recipient without a post-quantum key is an error, or `x25519`. */
  suite?: 'hybrid' | 'x25519';
  /** Hides the number of recipients among 8, 16, 32, … slots. */
  hideCount?: boolean;
}

export interface OpenOptions {
  as: Identity;
  context: string | Uint8Array;
  /** Accepted senders. Without it an envelope may come from anyone: look at `sender`. */
  from?: Iterable<PublicIdentity | string>;
  /** Greatest age. Envelopes without a time are refused, too. */
  maxAgeMs?: number;
  requirePostQuantum?: boolean;
}

/** Authentic facts about a message. */
export interface Facts {
  /** Who sealed and signed it: compare it by `equals`. It is in the short form, to which nothing is
   * sealed with a post-quantum key: answer to the long form that you have of this person. */
  readonly sender: PublicIdentity;
  /** 16 random bytes: who remembers them notices a message that comes again. */
  readonly messageId: Bytes;
  /** The sender's claim of the time. */
  readonly time: Date | undefined;
  readonly suite: string;
}

export interface Opened extends Facts {
  readonly content: Bytes;
}

export function seal(
  content: Uint8Array | ArrayBuffer | string,
  options: SealOptions,
): Promise<Bytes>;
export function open(envelope: Uint8Array | ArrayBuffer, options: OpenOptions): Promise<Opened>;
/** Opens many envelopes in less time than one after the other. Those that do not open are errors in
 * the list. */
export function openMany(
  envelopes: Iterable<Uint8Array | ArrayBuffer>,
  options: OpenOptions,
): Promise<(Opened | EndsealError)[]>;
/** Seals what is written into the envelope that is read. */
export function sealStream(options: SealOptions): TransformStream<Uint8Array, Bytes>;
/** Opens an envelope in blocks of 4 MiB. `content` ends in an error if the envelope was cut short:
 * what was read before is a beginning. */
export function openStream(
  from: ReadableStream<Uint8Array>,
  options: OpenOptions,
): Promise<Facts & { readonly content: ReadableStream<Bytes> }>;
/** Public facts about an envelope. Nothing of it is authentic. */
export function inspect(envelope: Uint8Array | ArrayBuffer): {
  suite: string;
  slots: number;
  /** As if nothing was cut off; undefined if an envelope of any content has another length. */
  contentLength?: number;
};
export const backend: { readonly kind: 'native' | 'wasm' };
