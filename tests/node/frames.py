"""Frames in the database of a hub, as docs/spec/frame.md, node.md and session.md describe them."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """Fields of a message in the encoding of Protocol Buffers: numbers and bytes."""
    at, found = 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            found[tag >> 3], at = varint(data, at)
        else:
            assert tag & 7 == 2, tag
            length, at = varint(data, at)
            found[tag >> 3] = data[at : at + length]
            at += length
    return found


def key_of(frame):
    """The sender of a stored frame, its sequence, and the ratchet key and index of its message."""
    sender, sequence = frame[24:56], int.from_bytes(frame[8:16], "little")
    message = fields(frame[64:])[3]
    assert message[0] == 1 and message[1] in (1, 2), message[:2]
    olm = message[10:]
    if message[1] == 1:
        # Behind the certificate and the version is a pre-key message, with the message in it.
        olm = fields(olm[237 + 1 :])[4]
    parts = fields(olm[1:-8])
    return sender, sequence, (parts[1], parts[2])
