CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE invitation (token BLOB PRIMARY KEY, name TEXT NOT NULL, expires INTEGER NOT NULL,
    uses INTEGER NOT NULL) WITHOUT ROWID;
-- A person who was removed comes back with an invitation alone.
CREATE TABLE person (identity BLOB PRIMARY KEY, record BLOB NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE device (id INTEGER PRIMARY KEY, peer BLOB NOT NULL UNIQUE, identity BLOB NOT NULL,
    certificate BLOB NOT NULL, invitation TEXT NOT NULL, revoked INTEGER NOT NULL, pending INTEGER NOT NULL, seen BLOB,
    last INTEGER NOT NULL, gap_count INTEGER NOT NULL, gap_position INTEGER NOT NULL, frames INTEGER NOT NULL,
    bytes INTEGER NOT NULL, acknowledged INTEGER NOT NULL, published INTEGER NOT NULL,
    dropped INTEGER NOT NULL, visited INTEGER NOT NULL DEFAULT 0);
CREATE INDEX device_of ON device (identity);
CREATE INDEX device_revoked ON device (id) WHERE revoked <> 0;
-- What a person has waiting in a mailbox. There is no row if nothing waits.
CREATE TABLE share (device INTEGER NOT NULL, sender BLOB NOT NULL, frames INTEGER NOT NULL,
    bytes INTEGER NOT NULL, PRIMARY KEY (device, sender)) WITHOUT ROWID;
-- Digests of the frames in a device's window, by their sequences modulo 1,025.
CREATE TABLE put (device INTEGER NOT NULL, slot INTEGER NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (device, slot)) WITHOUT ROWID;
CREATE TABLE message (id INTEGER PRIMARY KEY, sender INTEGER NOT NULL, mailboxes INTEGER NOT NULL,
    frame BLOB NOT NULL);
CREATE TABLE delivery (device INTEGER NOT NULL, position INTEGER NOT NULL, message INTEGER NOT NULL,
    PRIMARY KEY (device, position)) WITHOUT ROWID;
-- Groups of conversations: their epoch, and the devices that are members in it. `members` is the
-- number of these. The index has it, so that a sum over a person's groups reads the index alone.
CREATE TABLE conversation (id INTEGER PRIMARY KEY, group_id BLOB NOT NULL UNIQUE,
    creator BLOB NOT NULL, epoch INTEGER NOT NULL, members INTEGER NOT NULL);
CREATE INDEX conversation_of ON conversation (creator, members);
CREATE TABLE member (conversation INTEGER NOT NULL, device INTEGER NOT NULL,
    PRIMARY KEY (conversation, device)) WITHOUT ROWID;
CREATE INDEX member_of ON member (device);
CREATE TABLE prekey (id INTEGER PRIMARY KEY, device INTEGER NOT NULL, one_time INTEGER NOT NULL,
    bundle BLOB NOT NULL, UNIQUE (device, bundle));
CREATE TABLE taken (device INTEGER NOT NULL, asker INTEGER NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (device, asker)) WITHOUT ROWID;
CREATE TABLE given (device INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (device, digest))
    WITHOUT ROWID;
