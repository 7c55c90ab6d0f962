"""Delivery, version 1: an independent reader of docs/spec/delivery.md and of vouched frames."""

import re

from blake3 import blake3
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PublicKey

WINDOW = 1024


class Refused(Exception):
    """`kind` is the class of the refusal."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def check(condition, kind):
    if not condition:
        raise Refused(kind)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def vouched(frame, peer):
    """The sequence of a stored frame with scheme 3 that came over the connection of a peer."""
    check(len(frame) >= 64, "frame")
    length = int.from_bytes(frame[4:8], "little")
    check(frame[:4] == b"\x01\x01\x00\x00" and frame[60:64] == b"\x03\x00\x00\x00", "frame")
    check(length <= 1 << 20 and len(frame) == 64 + length, "frame")
    checksum = crc32c(frame[:56] + bytes(4) + frame[60:])
    check(frame[56:60] == checksum.to_bytes(4, "little") and frame[24:56] == peer, "frame")
    return int.from_bytes(frame[8:16], "little")


def targets(ids):
    """Mailboxes of a frame."""
    check(len(ids) % 32 == 0 and 1 <= len(ids) // 32 <= 1024, "targets")
    ids = [ids[at : at + 32] for at in range(0, len(ids), 32)]
    check(len(set(ids)) == len(ids), "targets")
    return ids


def group_put(put, peer):
    """ "Conversations": the form of a frame for the members of a group"""
    if put.targets:
        targets(put.targets)
    if not put.conversation.HasField("commit"):
        return
    commit = put.conversation.commit
    members = targets(commit.members)
    check(members == sorted(members), "targets")
    if commit.welcome:
        sequence = vouched(put.frame, peer)
        check(vouched(commit.welcome, peer) == sequence + 1, "frame")
    # Those that the commit replaces, who get the welcome.
    for target in targets(put.targets) if put.targets else []:
        check(commit.welcome and target in members and target != peer, "targets")


def members_digest(ids):
    return blake3(ids, derive_key_context="endseal/delivery@v1 members").digest()


def message_id(sender, sequence):
    key = blake3(derive_key_context="endseal/delivery@v1 message id")
    return key.update(sender + sequence.to_bytes(8, "little")).digest(16)


def window(sequences):
    """Refuses the last of them, if the window does."""
    seen = set()
    for sequence in sequences:
        highest = max(seen, default=sequence)
        verdict = "old" if sequence + WINDOW < highest else "seen" if sequence in seen else "ok"
        if verdict == "ok":
            seen.add(sequence)
    check(verdict == "ok", verdict)


def position_after(last, now):
    return max(last + 1, now)


def recovery(identity, hub, peer, signature):
    """Refuses a proof that the identity's key did not make for this hub and this peer."""
    try:
        key = Ed25519PublicKey.from_public_bytes(identity)
        key.verify(signature, b"endseal/delivery@v1 recovery" + hub + peer)
    except InvalidSignature:
        raise Refused("certificate") from None


SPKI = bytes.fromhex("308207b2300b0609608648016503040312038207a100")
ADDRESS = re.compile(rb"[!-~]+:([0-9]+)")


def is_address(text):
    match = ADDRESS.fullmatch(text)
    return match is not None and 1 <= int(match[1]) <= 65535


def address_note(note, hub):
    """Time and addresses of a note that the hub's key signed."""
    check(note[:1] in (b"", b"\x01"), "version")
    check(1 + 8 + 1952 + 3309 <= len(note) <= 1 + 8 + 1952 + 3309 + 255, "length")
    head, key, signature, addresses = note[:9], note[9:1961], note[1961:5270], note[5270:]
    peer = blake3(derive_key_context="endseal/peer@v1 id").update(SPKI + key).digest()
    check(peer == hub, "key")
    parts = addresses.split(b" ")
    check(len(parts) <= 4 and all(is_address(part) for part in parts), "addresses")
    try:
        public = MLDSA65PublicKey.from_public_bytes(key)
        public.verify(signature, head + addresses, b"endseal/delivery@v1 address note")
    except InvalidSignature:
        raise Refused("signature") from None
    return int.from_bytes(head[1:], "little"), addresses.decode("ascii")
