"""Nodes, version 1: an independent reader of docs/spec/node.md.

Messages come as Google's library decodes them. `check_encoding` refuses what docs/spec/codec.md
refuses and that library accepts, without the bounds of fields that docs/spec/node.md does not name.
"""

from ed25519_cofactored import decompress, is_low_order
from google.protobuf.descriptor import FieldDescriptor

ADDRESS_LEN = 36
MAX_MESSAGE_LEN = 1 << 20
MAX_UNKNOWN = 64
MAX_RUNS = 32
RULE_LEN = 64
MAX_RULES = 64
MAX_RULE_VALUES = 12
GROUP_ID_LEN = 16
MLS = 3
KINDS = {1: "message", 2: "welcome"}
DELIVERED, READ = 1, 2
CLASS_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz-")
# Least and greatest length.
LENGTHS = {
    ("SealedMessage", "context"): (0, 64),
    ("SealedMessage", "ciphertext"): (1, MAX_MESSAGE_LEN),
    ("RichMessage", "id"): (16, 16),
    ("RichMessage", "conversation"): (1, 64),
    ("RichMessage", "sender"): (32, 32),
    ("Receipt", "conversation"): (1, 64),
    ("Receipt", "sender"): (32, 32),
    ("Receipt", "messages"): (16, 16),
}
# Numbers of a type are below these. Google's library cuts greater ones.
BOUNDS = {
    FieldDescriptor.TYPE_BOOL: 2,
    FieldDescriptor.TYPE_ENUM: 1 << 31,
    FieldDescriptor.TYPE_UINT32: 1 << 32,
    FieldDescriptor.TYPE_UINT64: 1 << 64,
}
REQUIRED = {
    "SealedMessage": {"scheme", "ciphertext"},
    "Message": set(),
    "RichMessage": {"id", "conversation", "sender"},
    "Receipt": {"conversation", "sender", "messages"},
}


class Refused(Exception):
    """`kind` is the class of the refusal."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def check(condition, kind):
    if not condition:
        raise Refused(kind)


# ------------------------------------------------------------------------------------- messages


def varint(data, at, kind):
    """A number in its shortest form, and the place behind it."""
    value = shift = 0
    while True:
        check(at < len(data) and shift < 70, kind)
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            check((byte or shift == 7) and value < 1 << 64, kind)
            return value, at


def check_encoding(descriptor, data, kind):
    """Refuses a second reading: long varints, fields twice, two members of a oneof."""
    check(len(data) <= MAX_MESSAGE_LEN, kind)
    seen, names, unknown, at = set(), set(), 0, 0
    while at < len(data):
        tag, at = varint(data, at, kind)
        number, wire, start = tag >> 3, tag & 7, at
        check(0 < number < 1 << 29 and tag < 1 << 32 and wire in (0, 1, 2, 5), kind)
        if wire == 0:
            value, at = varint(data, at, kind)
        elif wire == 2:
            length, start = varint(data, at, kind)
            at = start + length
        else:
            at += 8 if wire == 1 else 4
        check(at <= len(data), kind)
        field = descriptor.fields_by_number.get(number)
        if field is None:
            unknown += 1
            check(unknown <= MAX_UNKNOWN, kind)
            continue
        has_length = field.type in (field.TYPE_STRING, field.TYPE_BYTES, field.TYPE_MESSAGE)
        check(wire == (2 if has_length else 0), kind)
        check(has_length or value < BOUNDS[field.type], kind)
        if not field.is_repeated:
            place = field.containing_oneof.name if field.containing_oneof else field.name
            check(place not in seen, kind)
            seen.add(place)
        least, most = LENGTHS.get((descriptor.name, field.name), (0, MAX_MESSAGE_LEN))
        check(not has_length or least <= at - start <= most, kind)
        if field.type == field.TYPE_MESSAGE:
            check_encoding(field.message_type, data[start:at], kind)
        names.add(field.name)
        # A required field without presence is missing if it has the default value.
        if not has_length and field.name in REQUIRED.get(descriptor.name, ()):
            check(value != 0, kind)
    check(REQUIRED.get(descriptor.name, set()) <= names, kind)


# ------------------------------------------------------------------------------- "Conventions"


def address(encoding, kind):
    """Identity and number of a device."""
    check(len(encoding) == ADDRESS_LEN, kind)
    identity, device = encoding[:32], number(encoding[32:])
    check(is_identity(identity) and device != 0, kind)
    return identity, device


def number(encoding):
    return int.from_bytes(encoding, "little")


class Value:
    """The value of a record, from which parts are taken."""

    def __init__(self, encoding):
        self.rest = encoding

    def take(self, length):
        check(len(self.rest) >= length, "record")
        part, self.rest = self.rest[:length], self.rest[length:]
        return part

    def number(self, length):
        return number(self.take(length))


def number_in_name(name):
    check(len(name) == 8, "record")
    return int.from_bytes(name, "big")


# ------------------------------------------------------------- "Frames", "Texts" and "Receipts"


def payload(sealed):
    """Content, group and body of a decoded SealedMessage."""
    check(sealed.scheme == MLS and len(sealed.context) == 1 + GROUP_ID_LEN, "frame")
    check(sealed.context[0] in KINDS, "frame")
    return KINDS[sealed.context[0]], sealed.context[1:], sealed.ciphertext


def text(message, sender, receiver):
    """Text and time of a decoded Message."""
    check(message.WhichOneof("content") == "rich", "text")
    rich = message.rich
    check(rich.sender == sender and rich.conversation == receiver, "text")
    body = rich.WhichOneof("body")
    check(body is not None, "text")
    return getattr(rich, body), rich.timestamp


def receipt(message, sender, receiver, kind=DELIVERED):
    """Series and runs of a decoded Message."""
    check(message.WhichOneof("content") == "receipt", "receipt")
    found = message.receipt
    check(found.sender == sender and found.conversation == receiver, "receipt")
    check(found.kind == kind and len(found.messages) <= 2 * MAX_RUNS, "receipt")
    check(len(found.messages) % 2 == 0, "receipt")
    series = {encoding[:8] for encoding in found.messages}
    check(len(series) == 1, "receipt")
    numbers = [int.from_bytes(encoding[8:], "big") for encoding in found.messages]
    runs, least = [], 1
    for first, last in zip(numbers[::2], numbers[1::2]):
        check(least <= first <= last, "receipt")
        runs.append(str(first) if first == last else f"{first}-{last}")
        least = last + 2
    return series.pop(), " ".join(runs)


def read_mark(message, person, writer):
    """Series and runs of a decoded Message: texts of the writer that the person has read."""
    return receipt(message, person, writer, READ)


# ------------------------------------------------------------------------- "Rules about persons"


def is_identity(encoding):
    point = decompress(encoding)
    return point is not None and not is_low_order(point)


def rules(message, person):
    """Rules in a decoded Message of another device of the person."""
    check(message.WhichOneof("content") == "rich", "rules")
    rich = message.rich
    check(rich.sender == person and rich.conversation == person, "rules")
    check(rich.WhichOneof("body") is None and 0 < len(rich.metadata) <= MAX_RULE_VALUES, "rules")
    found = []
    for at in range(len(rich.metadata)):
        value = rich.metadata.get(f"endseal.rules.{at:02}", b"")
        check(len(value) == MAX_RULES * RULE_LEN, "rules")
        found += [value[start : start + RULE_LEN] for start in range(0, len(value), RULE_LEN)]
    while found and found[-1] == bytes(RULE_LEN):
        found.pop()
    identities = [rule[:32] for rule in found]
    check(all(first < second for first, second in zip(identities, identities[1:])), "rules")
    check(all(map(is_identity, identities)), "rules")
    switches = [number(rule[at : at + 8]) for rule in found for at in range(32, RULE_LEN, 8)]
    check(all(switch < 1 << 54 for switch in switches), "rules")
    return (" ".join(rule.hex() for rule in found),)


# -------------------------------------------------------------------------------------- "Store"


def utf8(encoding):
    try:
        return encoding.decode()
    except UnicodeDecodeError:
        raise Refused("record") from None


def hub(name, value):
    """Peer id, sequence, time and addresses."""
    check(name == b"", "record")
    value = Value(value)
    check(value.number(1) == 1, "record")
    peer, sequence, time = value.take(32), value.number(8), value.number(8)
    check(value.rest != b"", "record")
    return peer, sequence, time, utf8(value.rest)


def history(name, value):
    """Number, direction, identity and device of the writer, time and plaintext."""
    check(len(name) == 41 and name[0] == 1, "record")
    value = Value(value)
    direction = value.number(1)
    check(direction in (0, 1), "record")
    identity, device = address(value.take(ADDRESS_LEN), "record")
    return number_in_name(name[33:]), direction, identity, device, value.number(8), value.rest


def problem(name, value):
    """Number, time, position, peer id and class."""
    value = Value(value)
    time, position, peer = value.number(8), value.number(8), value.take(32)
    check(value.rest != b"" and CLASS_CHARACTERS.issuperset(value.rest), "record")
    return number_in_name(name), time, position, peer, utf8(value.rest)
