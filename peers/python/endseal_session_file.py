"""The reader of docs/spec/session-file.md.

Nothing here is constant time and nothing here handles a secret.
"""

from blake3 import blake3
from endseal_session import SessionError, check, check_ed25519

MAGIC = b"endseal msgs v"
VERSION = b"1\n"
MAX_GROUP_ID_LEN = 63
MAX_LENGTHS = {2: 1 << 20, 3: 1 << 24}


def message_id(message):
    context = "endseal/session-file@v1 message id"
    return blake3(message, derive_key_context=context).digest(16)


class Reader:
    def __init__(self, file):
        self.rest = file

    def take(self, length):
        check(len(self.rest) >= length, "truncated")
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def header(self):
        magic, version = self.rest[: len(MAGIC)], self.rest[len(MAGIC) : len(MAGIC) + len(VERSION)]
        check(MAGIC.startswith(magic), "header")
        check(VERSION.startswith(version), "version")
        self.take(len(MAGIC) + len(VERSION))

    def address(self):
        identity = self.take(32)
        check_ed25519(identity)
        device = self.take(4)
        check(device != bytes(4), "device")
        return (identity + device).hex()

    def group(self):
        length = self.take(1)[0]
        check(1 <= length <= MAX_GROUP_ID_LEN, "group")
        return self.take(length).hex()

    def record(self):
        """Kind, id, sender, recipient and message."""
        kind = self.take(1)[0]
        check(kind in MAX_LENGTHS, "kind")
        identifier = self.take(16).hex()
        if kind == 2:
            sender, recipient = self.group(), "-"
        else:
            sender = self.address()
            recipient = self.address()
        length = int.from_bytes(self.take(4), "little")
        check(1 <= length <= MAX_LENGTHS[kind], "length")
        return str(kind), identifier, sender, recipient, self.take(length).hex()


def read(file):
    """The records of a file, and the class of the fault that ended the reading, or "ok"."""
    reader, records = Reader(file), []
    try:
        reader.header()
        while reader.rest:
            records.append(reader.record())
    except SessionError as error:
        return records, error.kind
    return records, "ok"
