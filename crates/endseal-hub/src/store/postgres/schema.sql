CREATE TABLE meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE invitation (token bytea PRIMARY KEY, name text NOT NULL, expires bigint NOT NULL,
    uses bigint NOT NULL);
CREATE TABLE person (identity bytea PRIMARY KEY, record bytea NOT NULL,
    removed bigint NOT NULL DEFAULT 0);
CREATE SEQUENCE device_id;
CREATE TABLE device (id bigint PRIMARY KEY, peer bytea NOT NULL UNIQUE, identity bytea NOT NULL,
    certificate bytea NOT NULL, invitation text NOT NULL, revoked bigint NOT NULL,
    pending bigint NOT NULL, seen bytea, last bigint NOT NULL, gap_count bigint NOT NULL,
    gap_position bigint NOT NULL, frames bigint NOT NULL, bytes bigint NOT NULL,
    acknowledged bigint NOT NULL, published bigint NOT NULL, dropped bigint NOT NULL,
    visited bigint NOT NULL DEFAULT 0);
CREATE INDEX device_of ON device (identity);
-- Columns that each frame changes are in no index: such a change would be one of all indexes.
CREATE INDEX device_revoked ON device (id) WHERE revoked <> 0;
CREATE TABLE share (device bigint NOT NULL, sender bytea NOT NULL, frames bigint NOT NULL,
    bytes bigint NOT NULL, PRIMARY KEY (device, sender));
CREATE TABLE put (device bigint NOT NULL, slot bigint NOT NULL, digest bytea NOT NULL,
    PRIMARY KEY (device, slot));
-- A process takes numbers of messages in blocks.
CREATE SEQUENCE message_id INCREMENT 1024;
CREATE TABLE message (id bigint PRIMARY KEY, sender bigint NOT NULL, targets bigint NOT NULL,
    mailboxes bigint NOT NULL, frame bytea NOT NULL);
-- Frames are encrypted: to compress them costs time and gains nothing.
ALTER TABLE message ALTER frame SET STORAGE EXTERNAL;
CREATE TABLE delivery (device bigint NOT NULL, position bigint NOT NULL, message bigint NOT NULL,
    size bigint NOT NULL, PRIMARY KEY (device, position));
-- Groups of conversations: their epoch, and the devices that are members in it. `members` is the
-- number of these. The index has it, so that a sum over a person's groups reads the index alone.
CREATE SEQUENCE conversation_id;
CREATE TABLE conversation (id bigint PRIMARY KEY, group_id bytea NOT NULL UNIQUE,
    creator bytea NOT NULL, epoch bigint NOT NULL, members bigint NOT NULL);
CREATE INDEX conversation_of ON conversation (creator, members);
CREATE TABLE member (conversation bigint NOT NULL, device bigint NOT NULL,
    PRIMARY KEY (conversation, device));
CREATE INDEX member_of ON member (device);
CREATE SEQUENCE prekey_id;
CREATE TABLE prekey (id bigint PRIMARY KEY, device bigint NOT NULL, one_time bigint NOT NULL,
    bundle bytea NOT NULL);
-- Key packages are longer than the rows of an index may be.
CREATE UNIQUE INDEX prekey_device_bundle ON prekey (device, sha256(bundle));
CREATE TABLE taken (device bigint NOT NULL, asker bigint NOT NULL, time bigint NOT NULL,
    PRIMARY KEY (device, asker));
CREATE INDEX taken_by ON taken (asker);
CREATE TABLE given (device bigint NOT NULL, digest bytea NOT NULL, PRIMARY KEY (device, digest));
