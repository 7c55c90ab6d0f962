DROP TABLE buffered;
CREATE TABLE parked (conversation INTEGER NOT NULL, seq INTEGER NOT NULL, message BLOB NOT NULL,
                     device INTEGER NOT NULL, reason INTEGER NOT NULL, epoch INTEGER NOT NULL,
                     body BLOB NOT NULL, PRIMARY KEY (conversation, seq)) WITHOUT ROWID;
CREATE UNIQUE INDEX parked_message ON parked (conversation, message);
ALTER TABLE outbox ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN state INTEGER NOT NULL DEFAULT 0;
