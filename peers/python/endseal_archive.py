"""Archives, version 1: an independent reader of docs/spec/archive.md.

It takes the plaintext of an envelope that was opened.  Headings in quotes are those of that document.
"""

import endseal_identity as identities
import endseal_node as node
import endseal_node_api as node_api
import endseal_roster as rosters
import endseal_session as sessions

MAX_NAME, MAX_VALUE = 1024, 64 << 20
HEAD, PERSON, ROOT, LINK, HUB, CONTACTS, PEERS, ROSTER, UNREAD, RECORD = range(1, 11)
BACKUP, LINKED = 1, 2
KINDS = {0, 2, 3, 4, 6, 8, 11, 12, 18, 19, 23, 24, 25, 26, 29, 35, 36}
HISTORY, DEVICE_NAME = 3, 29


class Refused(Exception):
    """`kind` is the class of the refusal."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def check(condition, kind):
    if not condition:
        raise Refused(kind)


def read_as(kind, read, *arguments):
    """What another reader makes of a value, with our class for its refusal."""
    try:
        return read(*arguments)
    except (identities.IdentityError, node.Refused, sessions.SessionError, UnicodeDecodeError):
        raise Refused(kind) from None


# ------------------------------------------------------------------------------------ "Entries"


def entries(plaintext):
    at = 0
    while at < len(plaintext):
        check(len(plaintext) - at >= 7, "entry")
        tag = plaintext[at]
        name_len = int.from_bytes(plaintext[at + 1 : at + 3], "little")
        value_len = int.from_bytes(plaintext[at + 3 : at + 7], "little")
        check(name_len <= MAX_NAME and value_len <= MAX_VALUE, "length")
        name_end = at + 7 + name_len
        end = name_end + value_len
        check(end <= len(plaintext), "entry")
        yield tag, plaintext[at + 7 : name_end], plaintext[name_end:end]
        at = end


def unread(value):
    writer, rest = value[:36], value[36:]
    read_as("unread", node.address, writer, "unread")
    lengths = {1: 32, 2: 16}
    check(rest and rest[0] in lengths, "unread")
    conversation, rest = rest[1 : 1 + lengths[rest[0]]], rest[1 + lengths[rest[0]] :]
    if len(conversation) == 32:
        read_as("unread", node.address, conversation + b"\1\0\0\0", "unread")
    check(rest and len(rest) > rest[0], "unread")


def history(name, value):
    """A row to a person or to a group."""
    tag = name[:1]
    if tag == b"\2":
        check(len(name) == 1 + 16 + 8, "record")
        name = b"\1" + bytes(32) + name[17:]
    read_as("record", node.history, name, value)


class Archive:
    """An archive of which the parts up to the person record were read."""

    def __init__(self, plaintext, sender):
        self.rest = entries(plaintext)
        tag, _, value = next(self.rest, (0, b"", b""))
        check(tag == HEAD and value, "head")
        check(value[0] == 1, "version")
        check(len(value) > 1 and value[1] in (BACKUP, LINKED), "purpose")
        check(len(value) == 10, "head")
        self.purpose, self.time = value[1], int.from_bytes(value[2:], "little")
        self.next = None
        value = self.take(PERSON)
        check(value is not None, "person")
        self.record, devices = read_as("person", lambda: rosters.person(value.decode()))
        self.devices = {number: device.ed25519 for number, device in devices.items()}
        check(sender in {*self.devices.values(), self.record.owner}, "sender")

    def root(self):
        return self.record.named["root"]

    def take(self, tag):
        """The value of the next entry, if it has this tag."""
        entry = self.next or next(self.rest, None)
        self.next = None if entry and entry[0] == tag else entry
        return entry[2] if entry and entry[0] == tag else None

    def content(self):
        """Address of the hub, and the counts of contacts, rosters and texts."""
        hub, contacts, count, texts = "", 0, 0, 0
        last = LINK if self.purpose == LINKED else PERSON
        while entry := self.next or next(self.rest, None):
            self.next = None
            tag, name, value = entry
            check(tag >= last, "order")
            last = tag
            if tag == HUB:
                hub = read_as("hub", node.hub, b"", value)[3]
            elif tag == CONTACTS:
                text = read_as("book", lambda: identities.contacts(value.decode()))
                contacts = len(text.splitlines()) - 1
            elif tag == PEERS:
                read_as("book", lambda: identities.peers(value.decode()))
            elif tag == ROSTER:
                check(len(name) > 8 and identities.is_name(name[8:].decode()), "roster")
                roster = read_as("roster", lambda: rosters.roster(value.decode()))
                check(roster.epoch == int.from_bytes(name[:8], "big"), "roster")
                count += 1
            elif tag == UNREAD:
                check(len(name) == 8, "unread")
                unread(value)
                texts += 1
            else:
                check(tag == RECORD, "kind")
                check(len(name) >= 2, "record")
                kind = int.from_bytes(name[:2], "big")
                check(kind in KINDS, "record")
                if kind == HISTORY:
                    history(name[2:], value)
                    texts += 1
                if kind == DEVICE_NAME:
                    called = read_as("record", value.decode)
                    check(len(name) == 6 and node_api.device_name(called), "record")
        return hub, contacts, count, texts


# ------------------------------------------------------------------------------------ "Reading"


def backup(plaintext, sender, root):
    archive = Archive(plaintext, sender)
    check(archive.purpose == BACKUP, "purpose")
    check(archive.root() == root, "person")
    return archive


def link(plaintext, sender, device, peer, secret):
    """The archive, and the number of the device."""
    archive = Archive(plaintext, sender)
    check(archive.purpose == LINKED, "purpose")
    value = archive.take(ROOT)
    check(value is not None, "root")
    _, pair = read_as("root", lambda: identities.identity_file(value.decode(), None))
    root = identities.Public.of_seeds(*pair)
    value = archive.take(LINK)
    check(value is not None and len(value) > 32, "link")
    check(value[:32] == secret, "secret")
    certificate = read_as("link", sessions.Certificate, value[32:])
    listed = archive.devices.get(certificate.device)
    check(root == archive.root() and certificate.identity == root.ed25519, "link")
    check(listed == device.ed25519 and certificate.peer_id == peer, "link")
    return archive, certificate.device
