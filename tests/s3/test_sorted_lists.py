"""Programs that rely on the order of lists: litestream and Delta Lake (delta-rs)."""

import os
import sqlite3
import time

import pytest

from commands import run, write
from content import equal
from processes import Process
from servers import REGION, cache

pytestmark = [pytest.mark.other_client, pytest.mark.with_names]


class Litestream:
    """A database, and its replica in a bucket."""

    def __init__(self, world):
        self.program = os.path.join(cache(), "bin", "litestream")
        if not os.access(self.program, os.X_OK):
            pytest.skip("litestream is missing")
        self.folder = world.temporary()
        self.database = os.path.join(self.folder, "db")
        text = f"""
levels: [{{interval: 1s}}, {{interval: 4s}}]
dbs:
  - path: {self.database}
    replica:
      type: s3
      bucket: {world.bucket("litestream")}
      path: replica
      endpoint: {world.url}
      region: {REGION}
      force-path-style: true
      access-key-id: {world.access}
      secret-access-key: {world.secret}
      sync-interval: 100ms
"""
        self.configuration = write(self.folder, "litestream.yml", text.encode())
        self.log = os.path.join(self.folder, "log")

    def replicate(self):
        return Process([self.program, "replicate", "-config", self.configuration], self.log)

    def restore(self, path):
        run([self.program, "restore", "-config", self.configuration, "-o", path, self.database])


def rows(path):
    with sqlite3.connect(path) as database:
        return database.execute("SELECT * FROM numbers ORDER BY number").fetchall()


@pytest.mark.slow
def test_a_replica_of_litestream_is_restored(world):
    litestream = Litestream(world)
    with sqlite3.connect(litestream.database) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE numbers (number INTEGER, text TEXT)")
    process = litestream.replicate()
    with sqlite3.connect(litestream.database) as database:
        for number in range(60):
            database.execute("INSERT INTO numbers VALUES (?, ?)", (number, "x" * 1000))
            database.commit()
            time.sleep(0.2)
    time.sleep(2)
    equal(process.stop(), 0, "exit status")
    with open(litestream.log) as log:
        failed = [line for line in log if "level=ERROR" in line]
    equal(failed, [], "errors")
    back = os.path.join(litestream.folder, "back")
    litestream.restore(back)
    equal(rows(back), rows(litestream.database), "rows")


def test_a_table_of_delta_lake_takes_appends(world):
    deltalake, pyarrow = pytest.importorskip("deltalake"), pytest.importorskip("pyarrow")
    options = {
        "AWS_ENDPOINT_URL": world.url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": world.access,
        "AWS_SECRET_ACCESS_KEY": world.secret,
        "AWS_REGION": REGION,
        "aws_conditional_put": "etag",
    }
    table = f"s3://{world.bucket('delta')}/tables/numbers"
    for number in range(14):
        part = pyarrow.table({"number": [number], "text": [f"text {number}"]})
        deltalake.write_deltalake(table, part, mode="append", storage_options=options)
        read = deltalake.DeltaTable(table, storage_options=options)
        equal(read.version(), number, "version")
        if number == 10:
            read.create_checkpoint()
    equal(sorted(read.to_pyarrow_table()["number"].to_pylist()), list(range(14)), "rows")
    old = deltalake.DeltaTable(table, version=5, storage_options=options)
    equal(old.to_pyarrow_table().num_rows, 6, "rows of an older version")
