"""Databases of hubs: SQLite files, or databases of a PostgreSQL server."""

import shutil
import sqlite3
import subprocess

from postgres import Server, program


class Sqlite:
    """A file in the folder of each hub, which one process serves."""

    name, processes = "sqlite", 1

    def serve(self, folder, number):
        """Words and environment with which a process of a hub is started."""
        return [], {}

    def environment(self, folder):
        """The environment in which other commands of a hub are run."""
        return {}

    def file(self, folder):
        return folder / "owner" / "hub" / "hub.db"

    def frames(self, folder):
        """Frames that wait in mailboxes."""
        uri = f"file:{self.file(folder)}?mode=ro"
        with sqlite3.connect(uri, uri=True, timeout=10) as connection:
            rows = connection.execute("SELECT frame FROM message").fetchall()
        connection.close()
        return [row[0] for row in rows]

    def damage(self, folder):
        """Flips a bit of the first frame that waits, while the hub does not run."""
        with sqlite3.connect(self.file(folder)) as connection:
            (row, frame) = connection.execute("SELECT id, frame FROM message").fetchone()
            frame = bytearray(frame)
            frame[80] ^= 1
            connection.execute("UPDATE message SET frame = ? WHERE id = ?", (bytes(frame), row))
        connection.close()

    def back_up(self, folder, owner):
        """Writes a backup while the hub runs. Returns its file."""
        file = folder / "hub.backup"
        owner.ok("hub", "backup", file)
        return file

    def put_back(self, folder, file):
        """Puts a backup in the place of the database, while the hub does not run."""
        database = self.file(folder)
        for end in ("", "-wal", "-shm"):
            database.with_name(database.name + end).unlink(missing_ok=True)
        shutil.copy(file, database)

    def copy(self, folder, to):
        """Copies what a hub has beside its folder for a copy of that folder."""

    def forget(self, folder):
        """Deletes what a hub has beside its folder."""

    def size(self, folder):
        """Bytes on the disk."""
        return sum(file.stat().st_size for file in self.file(folder).parent.iterdir())

    def files(self):
        """Files of databases beside the folders of hubs."""
        return []

    def close(self):
        """Stops what runs for the engine."""


class Postgres:
    """A database for each hub, which any number of processes serve."""

    name = "postgres"

    def __init__(self, processes):
        self.processes, self.server, self.names = processes, Server(), {}

    def database(self, folder):
        if folder not in self.names:
            self.names[folder] = self.server.create()
        return self.names[folder]

    def serve(self, folder, number):
        # Both ways to a server.
        name = self.database(folder)
        if number % 2 == 0:
            return ["--database", self.server.url(name)], {}
        password = {"PGPASSWORD": self.server.password}
        return ["--database", self.server.url_by_tcp(name)], password

    def environment(self, folder):
        return {"ENDSEAL_HUB_DATABASE": self.server.url_with_password(self.database(folder))}

    def frames(self, folder):
        rows = self.server.sql("SELECT encode(frame, 'hex') FROM message", self.database(folder))
        return [bytes.fromhex(row[0]) for row in rows]

    def damage(self, folder):
        flip = "UPDATE message SET frame = set_byte(frame, 80, get_byte(frame, 80) # 1)"
        first = "WHERE id = (SELECT min(id) FROM message)"
        self.server.sql(f"{flip} {first}", self.database(folder))

    def back_up(self, folder, owner):
        file = folder / "hub.dump"
        dump = [program("pg_dump"), "--format", "custom", "--file", file]
        subprocess.run([*dump, self.server.url(self.database(folder))], check=True)
        return file

    def put_back(self, folder, file):
        name = self.database(folder)
        self.server.drop(name)
        self.server.create(name)
        restore = [program("pg_restore"), "--exit-on-error", "--no-owner", "--dbname"]
        subprocess.run([*restore, self.server.url(name), file], check=True)

    def copy(self, folder, to):
        self.names[to] = self.server.create(template=self.database(folder))

    def forget(self, folder):
        if folder in self.names:
            self.server.drop(self.names.pop(folder))

    def size(self, folder):
        rows = self.server.sql("SELECT pg_database_size(current_database())", self.database(folder))
        return int(rows[0][0])

    def files(self):
        return self.server.files()

    def close(self):
        self.server.remove()


def chosen(name, processes):
    """The engine of this run."""
    if name == "postgres":
        return Postgres(processes)
    assert processes == 1, "one process serves from a SQLite file: --engine postgres"
    return Sqlite()
