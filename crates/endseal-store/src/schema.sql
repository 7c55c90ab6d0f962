CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE record (kind INTEGER NOT NULL, name BLOB NOT NULL, value BLOB NOT NULL,
                     PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE address (ref INTEGER PRIMARY KEY AUTOINCREMENT, identity BLOB NOT NULL,
                      device INTEGER NOT NULL, certificate BLOB, UNIQUE (identity, device));
CREATE TABLE conversation (ref INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL UNIQUE);
CREATE TABLE session (address INTEGER NOT NULL REFERENCES address, tag BLOB NOT NULL,
                      engine INTEGER NOT NULL, standing INTEGER NOT NULL, used INTEGER NOT NULL,
                      state BLOB NOT NULL, PRIMARY KEY (address, tag)) WITHOUT ROWID;
CREATE TABLE mls_group (name BLOB PRIMARY KEY, standing INTEGER NOT NULL, epoch INTEGER NOT NULL,
                        state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE mls_epoch (name BLOB NOT NULL, epoch INTEGER NOT NULL, state BLOB NOT NULL,
                        PRIMARY KEY (name, epoch)) WITHOUT ROWID;
CREATE TABLE seen (conversation INTEGER NOT NULL, message BLOB NOT NULL, seq INTEGER NOT NULL,
                   digest BLOB NOT NULL, PRIMARY KEY (conversation, message)) WITHOUT ROWID;
CREATE TABLE inbox (first INTEGER PRIMARY KEY, messages INTEGER NOT NULL, pack BLOB NOT NULL);
CREATE TABLE parked (conversation INTEGER NOT NULL, seq INTEGER NOT NULL, message BLOB NOT NULL,
                     device INTEGER NOT NULL, reason INTEGER NOT NULL, epoch INTEGER NOT NULL,
                     body BLOB NOT NULL, PRIMARY KEY (conversation, seq)) WITHOUT ROWID;
CREATE UNIQUE INDEX parked_message ON parked (conversation, message);
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL,
                     recipient INTEGER, body BLOB NOT NULL, kind INTEGER NOT NULL,
                     state INTEGER NOT NULL);
CREATE TABLE cursor (queue BLOB PRIMARY KEY, position BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE recent (first INTEGER PRIMARY KEY, pack BLOB NOT NULL);
