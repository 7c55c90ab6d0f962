"""States of conversations and evidence, version 1: docs/spec/conversation.md."""

import struct
from dataclasses import dataclass

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import ed25519_cofactored as ed
import endseal_roster as rosters
from endseal_identity import IdentityError

ONESELF, PAIR, TEAM = 1, 2, 3
MAX_STATE, MAX_EVIDENCE = 1 << 20, 512 << 10
# Epoch, digest and devices of a member of a team of whom no record is known.
NO_RECORD = (0, bytes(32), [])
# The same of a member who has left.
DEPARTED = (2**64 - 1, bytes(32), [])
DOCUMENTS, DEPARTURE = 1, 2


class Refused(Exception):
    """Its argument is the class."""


def require(condition, kind="format"):
    if not condition:
        raise Refused(kind)


class Fields:
    def __init__(self, data):
        self.data = data

    def take(self, length):
        require(len(self.data) >= length)
        field, self.data = self.data[:length], self.data[length:]
        return field

    def number(self, length):
        return int.from_bytes(self.take(length), "little")

    def document(self):
        return self.take(self.number(4))


@dataclass
class State:
    kind: int
    roster: rosters.Roster | None
    members: list
    persons: dict

    def encoded(self):
        out = bytes([1, self.kind])
        if self.roster:
            out += with_length(self.roster.text.encode())
        else:
            out += b"".join(self.members)
        for member in self.members:
            epoch, digest, devices = self.persons[member]
            out += epoch.to_bytes(8, "little") + digest + bytes([len(devices)])
            out += b"".join(number.to_bytes(4, "little") for number in devices)
        return out

    def digest(self):
        return rosters.derive("endseal/conversation@v1 state", self.encoded())

    def devices(self):
        for member in self.members:
            for number in self.persons[member][2]:
                yield member + number.to_bytes(4, "little")


def with_length(data):
    return len(data).to_bytes(4, "little") + data


def key(data):
    point = ed.decompress(data)
    require(point and not ed.is_low_order(point))
    return data


def read(reader, data):
    """A roster or a person record, of which all faults are those of the format."""
    try:
        return reader(data.decode("ascii"))
    except (IdentityError, UnicodeDecodeError):
        raise Refused("format") from None


def members_of(roster):
    return sorted(member.ed25519 for member in roster.named.values())


def state(data):
    """ "State" """
    require(len(data) <= MAX_STATE)
    fields = Fields(data)
    require(fields.number(1) == 1)
    kind, roster = fields.number(1), None
    require(kind in (ONESELF, PAIR, TEAM))
    if kind == TEAM:
        roster = read(rosters.roster, fields.document())
        members = members_of(roster)
    else:
        members = [key(fields.take(32)) for _ in range(kind)]
        require(kind == ONESELF or members[0] < members[1])
    persons = {}
    for member in members:
        epoch, digest = fields.number(8), fields.take(32)
        devices = [fields.number(4) for _ in range(fields.number(1))]
        if kind != TEAM or (epoch, digest, devices) not in (NO_RECORD, DEPARTED):
            require(0 < epoch < DEPARTED[0] and devices and devices[0] > 0)
            require(all(a < b for a, b in zip(devices, devices[1:])))
        persons[member] = (epoch, digest, devices)
    require(not fields.data)
    return State(kind, roster, members, persons)


def evidence(data):
    """ "Evidence": the roster or None, and person records with their devices; None: departure"""
    require(len(data) <= MAX_EVIDENCE)
    fields = Fields(data)
    require(fields.number(1) == 1)
    kind = fields.number(1)
    require(kind in (DOCUMENTS, DEPARTURE))
    if kind == DEPARTURE:
        require(not fields.data)
        return None
    document = fields.document()
    roster = read(rosters.roster, document) if document else None
    records = []
    while fields.data:
        records.append(read(rosters.person, fields.document()))
    require(roster or records)
    return roster, records


def after(before, documents, committer):
    """The state after evidence."""
    if documents is None:
        require(before.kind == TEAM, "roster")
        known = before.persons.get(committer, NO_RECORD)
        require(known not in (NO_RECORD, DEPARTED), "departure")
        require(before.roster.owner != committer, "departure")
        persons = {**before.persons, committer: DEPARTED}
        return State(before.kind, before.roster, before.members, persons)
    (roster, records), members = documents, before.members
    if roster:
        require(before.kind == TEAM, "roster")
        try:
            rosters.follows(roster, before.roster)
        except IdentityError as error:
            require(error.args == ("gap",), "roster")
        members = members_of(roster)
    new = {}
    for record, devices in records:
        require(record.owner not in new, "record")
        if record.owner in before.persons:
            epoch, digest, _ = before.persons[record.owner]
            require(record.epoch > epoch, "record")
            require(epoch == 0 or record.epoch > epoch + 1 or record.previous == digest, "record")
        new[record.owner] = (record.epoch, record.digest(), sorted(devices))
    persons = {**before.persons, **new}
    require(all(member in members for member in new), "record")
    persons = {member: persons.get(member, NO_RECORD) for member in members}
    return State(before.kind, roster or before.roster, members, persons)


def rotate(word, bits):
    return (word << bits | word >> 32 - bits) & 0xFFFFFFFF


def quarter(x, a, b, c, d):
    for first, second, third, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[first] = (x[first] + x[second]) & 0xFFFFFFFF
        x[third] = rotate(x[third] ^ x[first], bits)


def hchacha20(key, nonce):
    """draft-irtf-cfrg-xchacha-03, 2.2"""
    x = list(struct.unpack("<16I", b"expand 32-byte k" + key + nonce))
    for _ in range(10):
        for start in range(4):
            quarter(x, *(start + 4 * row for row in range(4)))
        for start in range(4):
            quarter(x, *((start + row) % 4 + 4 * row for row in range(4)))
    return struct.pack("<8I", *x[:4], *x[12:])


def vector(data):
    """A vector of MLS, whose length is as short as it can be."""
    require(data, "malformed")
    width = 1 << (data[0] >> 6)
    require(width < 8 and len(data) >= width, "malformed")
    length = int.from_bytes(data[:width], "big") & (1 << (8 * width - 2)) - 1
    least = {1: 0, 2: 1 << 6, 4: 1 << 14}[width]
    require(length >= least and len(data) >= width + length, "malformed")
    return data[width : width + length], data[width + length :]


def note(data, exported, to, signer):
    """ "Notes": group, epoch, sender and text"""
    require(len(data) <= 1 << 20 and data[:4] == b"\x00\x01\xf0\xe4", "malformed")
    group, rest = vector(data[4:])
    require(1 <= len(group) <= 63 and 68 + 80 <= len(rest) <= 68 + 80 + 65536, "malformed")
    epoch, sender, nonce, sealed = rest[:8], rest[8:44], rest[44:68], rest[68:]
    head = data[: len(data) - len(sealed)]
    key = rosters.derive("endseal/conversation@v1 note key", exported + sender + to)
    cipher = ChaCha20Poly1305(hchacha20(key, nonce[:16]))
    try:
        opened = cipher.decrypt(bytes(4) + nonce[16:], sealed, head)
    except InvalidTag:
        raise Refused("authentication") from None
    signature, text = opened[:64], opened[64:]
    message = b"endseal/conversation@v1 note signature\x00" + head + to + blake3(key).digest() + text
    require(ed.verify(signer, signature, message), "authentication")
    return group, int.from_bytes(epoch, "big"), sender, text
