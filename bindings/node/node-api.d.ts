/** Client of a running node (the program `endseal up`) for programs of the same user, in Node and
 * Bun. Methods and members have the names of docs/spec/node-api.md, which says what each means. */

/** A call to a node failed. The text may change, and `code` does not. It is the kind of the error in
 * docs/spec/node-api.md, as `not_member`, or one of this client:
 *
 * - `not_running`: no node runs with this state directory; nothing was done.
 * - `socket`: the socket cannot be used, as that of another user; nothing was done.
 * - `version`: the node has another version of the interface; nothing was done.
 * - `line_too_long`: the request has more than 8 MiB; nothing was done.
 * - `connection_lost`: the connection ended before the result; the request may have been done.
 * - `timed_out`: there was no result in time; the request may still be done.
 * - `unexpected`: the node sent what the interface does not have; the request may have been done. */
export class NodeError extends Error {
  constructor(code: string, message: string, data?: Record<string, unknown>);
  readonly code: string;
  /** Further members of the kind, as `text` of `too_long`. */
  readonly data: Record<string, unknown>;
  /** True if the node refused these parameters, and would refuse them again. An older node that does
   * not know the method does not refuse them. */
  readonly isRefusal: boolean;
}

export interface NodeOptions {
  /** State directory. Without it that of the program: `$ENDSEAL_HOME`, or `endseal` in
   * `$XDG_DATA_HOME` or `~/.local/share`. */
  home?: string;
  /** Time for which a call waits for a node that is away, before it fails with `not_running`. */
  waitMs?: number;
  /** Longest time until the result of a request. `sync` has none. */
  timeoutMs?: number;
}

/** A text of the inbox, of the history or of a request. */
export interface Text {
  readonly number: number;
  /** The other person (identity) or the group (id). */
  readonly conversation: string;
  /** Identity of the author, authenticated. */
  readonly from: string;
  readonly device: number;
  readonly is_sent: boolean;
  /** The author's word, in milliseconds since 1970. Above 2^53 it is not exact. */
  readonly time: number | null;
  /** What the author wrote; null if this version cannot show it. */
  readonly text: string | null;
  readonly is_muted: boolean;
  readonly delivery: 'unsent' | 'undelivered' | 'delivered' | null;
  readonly confirmed: { readonly by: number; readonly of: number } | null;
}

/** Texts that the node has stored: not that they were sent. `delivery` in the history says how far
 * they have come. */
export interface Said {
  readonly texts: number;
  /** Their numbers in the history. */
  readonly numbers: readonly number[];
}

export interface Version {
  readonly api: number;
  readonly program: string;
}

export interface Status {
  readonly identity: string;
  readonly device: number;
  readonly membership: {
    readonly hub: string;
    readonly addresses: string;
    readonly sequence: number;
    readonly time: number;
  } | null;
  readonly moves_to: string | null;
  readonly is_restored: boolean;
  readonly unread: number;
  readonly requests: number;
  readonly unsent: number;
  readonly frames: number;
  readonly undelivered: number;
  readonly parked: number;
  readonly problems: number;
  readonly connected: boolean;
  readonly cause: string | null;
}

export interface Unsent {
  readonly number: number;
  readonly conversation: string;
  readonly can_unsend: boolean;
}

export interface PersonRules {
  readonly person: string;
  readonly blocked: number | null;
  readonly dropped: number;
  readonly is_muted: boolean;
  readonly is_verified: boolean;
  readonly requests: number;
}

export interface Team {
  readonly team: string;
  readonly name: string;
  readonly epoch: number;
  readonly owner: string;
  readonly members: number;
  readonly is_member: boolean;
}

export interface Member {
  readonly number: number;
  readonly person: string;
  readonly name: string;
  readonly is_admin: boolean;
}

export interface Departure {
  readonly team: string;
  readonly person: string;
  readonly is_pending: boolean;
}

export interface Problem {
  readonly number: number;
  readonly time: number;
  readonly position: number;
  readonly peer: string;
  readonly device: { readonly identity: string; readonly device: number } | null;
  readonly class: string;
}

export interface DeviceChange {
  readonly number: number;
  readonly time: number;
  readonly person: string;
  readonly device: number;
  readonly name: string | null;
  readonly is_new: boolean;
  readonly is_seen: boolean;
}

export interface Devices {
  readonly numbers: readonly number[];
  readonly changes: readonly DeviceChange[];
  readonly names: readonly { readonly device: number; readonly name: string }[];
}

export interface Backup {
  readonly file: string;
  readonly texts: number;
}

/** Result of `sync`. Lists of `unknown` are described in the specification. */
export interface Report {
  readonly received: number;
  readonly parked: number;
  readonly encrypted: number;
  readonly returned: number;
  readonly sent: number;
  readonly receipts: number;
  readonly problems: number;
  readonly gaps: readonly unknown[];
  readonly skipped: readonly unknown[];
  readonly mailbox_full: boolean;
  readonly hub_forgot: number | null;
  readonly hub_moves: readonly unknown[];
  readonly clock_behind: number;
  readonly record_conflict: boolean;
  readonly device_changes: readonly DeviceChange[];
  readonly teams: readonly unknown[];
  readonly left: readonly unknown[];
  readonly replaced: readonly unknown[];
  readonly departures: readonly Departure[];
  readonly team_changes: readonly unknown[];
  readonly requests: readonly unknown[];
  readonly no_room: readonly unknown[];
  readonly blocked: readonly unknown[];
}

/** A node that runs on this machine, for this user.
 *
 * Each call makes a connection of its own and asks for the version of the interface first. A call
 * whose connection breaks is repeated, within `waitMs`, if that cannot have another effect: `answer`
 * is, `say` is not. All calls fail with `NodeError`. */
export class Node {
  constructor(options?: NodeOptions);
  /** Sends any request of the interface, and returns its result. */
  call(method: string, params?: Record<string, unknown>): Promise<unknown>;
  /** The texts of the inbox with numbers above `after`, and then those that arrive, for ever. Texts
   * of muted persons are left out.
   *
   * It does not mark them as read: `answer` and `mark_read` do. If the node is away for at most
   * `waitMs`, it goes on with the texts that are still in the inbox, also with those that it has
   * given before. Otherwise, and if the hub refuses the device, it ends in an error, and in that of
   * `signal` when this is aborted. */
  follow(after?: number, options?: { signal?: AbortSignal }): AsyncGenerator<Text, never, void>;
  version(): Promise<Version>;
  /** The node's own identity, its connection to the hub, and counts of what waits. */
  status(): Promise<Status>;
  /** Stores texts to a person (identity) or group (id), which the node sends as soon as it can.
   * After `connection_lost` and `timed_out` they may be stored: look into the history. */
  say(to: string, texts: string | Iterable<string>): Promise<Said>;
  /** Stores texts to the conversation of a text in the inbox, and marks that text as read: both or
   * neither. 0 texts are stored if it was answered or read before. */
  answer(number: number, texts?: string | Iterable<string>): Promise<Said>;
  /** Waits until the node has received and sent all that waited. */
  sync(attempts?: number): Promise<Report>;
  /** The texts of the inbox. */
  unread(after?: number): AsyncGenerator<Text, void, void>;
  /** Moves texts from the inbox to the history. Others than those are skipped. */
  mark_read(numbers: Iterable<number>): Promise<void>;
  /** The texts of a conversation that were written here or read, the oldest first. */
  history(conversation: string, after?: number): AsyncGenerator<Text, void, void>;
  /** The texts that wait unencrypted. */
  unsent(after?: number): AsyncGenerator<Unsent, void, void>;
  /** Cancels texts that have not left: all of them, or none. */
  unsend(to: string, numbers: Iterable<number>): Promise<number>;
  /** Cancels all texts to a person or group that have not left. */
  unsend_all(to: string): Promise<number>;
  /** Deletes texts of the history: all of them, or none. */
  delete_texts(conversation: string, numbers: Iterable<number>): Promise<number>;
  /** Deletes texts that were written or read here before a time in milliseconds. */
  delete_texts_before(conversation: string, time: number): Promise<number>;
  /** The texts of unknown senders, which are not in the inbox. */
  requests(after?: number): AsyncGenerator<Text, void, void>;
  /** Moves the texts of an unknown sender to the inbox, now and later. */
  accept(person: string): Promise<void>;
  /** Drops the texts of a person. Returns how many of a request were deleted. */
  block(person: string): Promise<number>;
  /** Returns how many texts were dropped meanwhile. */
  unblock(person: string): Promise<number>;
  /** `follow` leaves out texts of muted persons. */
  mute(person: string, is_muted: boolean): Promise<void>;
  /** Records that people have compared the safety number. */
  verify(person: string, is_verified: boolean): Promise<void>;
  /** Persons who are blocked, muted or verified, or whose requests wait. */
  persons(): Promise<PersonRules[]>;
  /** The groups. `endseal group` creates and changes them. */
  teams(): Promise<Team[]>;
  members(team: string): AsyncGenerator<Member, void, void>;
  /** Leaves a group. Returns how many unsent texts were cancelled. */
  leave(team: string): Promise<number>;
  /** Members who have left groups, and groups that this identity has left. */
  departures(): Promise<Departure[]>;
  /** Messages that could not be opened, or were lost. */
  problems(): Promise<Problem[]>;
  forget_problems(last: number): Promise<void>;
  devices(person: string): Promise<Devices>;
  /** Names a device of this person, on this device alone. */
  name_device(device: number, name: string): Promise<void>;
  /** The oldest changes of devices that were not marked as seen. */
  device_changes(): Promise<DeviceChange[]>;
  mark_changes_seen(last: number): Promise<void>;
  /** Writes a backup into the state directory, from which the caller moves it. */
  backup(): Promise<Backup>;
}
