import { EndsealError, PublicIdentity, Recipients } from './index.js';
export { EndsealError };

/** One member of a group. The name is of the group's owner or an admin. */
export interface Member {
  readonly name: string;
  readonly identity: PublicIdentity;
  readonly isAdmin: boolean;
}

/** The members of a group in one epoch, signed by its owner or an admin. */
export class Roster {
  private constructor();
  /** Reads the first roster of a group that you hold, and verifies it. Everyone can sign a roster of any
   * name: `owner` is the group's, whom you know from elsewhere. */
  static read(
    file: Uint8Array | ArrayBuffer | string,
    options: { owner: PublicIdentity | string },
  ): Promise<Roster>;
  /** Reads the roster of the epoch after this one. Keep the newest, and read later ones from it: nothing
   * else notices an old one. With `allowGap` epochs may be missing between. */
  readNext(
    file: Uint8Array | ArrayBuffer | string,
    options?: { allowGap?: boolean },
  ): Promise<Roster>;
  readonly group: string;
  /** Name of the group that never changes, in hexadecimal digits. */
  readonly id: string;
  readonly epoch: bigint;
  /** Digest of the roster, in hexadecimal digits, which members can compare. */
  readonly digest: string;
  /** Digest of the roster of the epoch before. */
  readonly previous: string | undefined;
  readonly owner: PublicIdentity;
  /** The owner who vouches for it: the former one in the epoch in which the group was handed on. */
  readonly signingOwner: PublicIdentity;
  /** Who signed it: the signing owner, or an admin. */
  readonly signer: PublicIdentity;
  /** The members in the order of their names. */
  readonly members: readonly Member[];
  /** All members, to seal to. */
  recipients(): Recipients;
  /** The file. */
  toString(): string;
}
