"""Rosters, version 1: an independent reader of docs/spec/roster.md."""

import re
from dataclasses import dataclass

from blake3 import blake3

import ed25519_cofactored as ed
from endseal_identity import (
    IdentityError,
    Lines,
    check,
    decimal,
    is_name,
    public_identity,
    unbase64,
    without_sign,
)

MAX_MEMBERS, MAX_LEN, MAX_PERSON = 65536, 64 << 20, 8192


@dataclass(frozen=True)
class Roster:
    text: str
    group: str
    id: bytes
    epoch: int
    previous: bytes | None
    owner: bytes
    members: int
    sealed_epoch_key: bytes
    context: bytes
    named: dict

    def digest(self):
        return derive("endseal/roster@v1 digest", self.text.encode())


def derive(label, material):
    return blake3(material, derive_key_context=label).digest()


def unhex(text, length):
    return bytes.fromhex(text) if re.fullmatch(rf"[0-9a-f]{{{2 * length}}}", text) else None


def roster(text):
    """ "Reading" """
    if len(text.encode()) > MAX_LEN:
        raise IdentityError("limit")
    lines = Lines(text, "roster", IdentityError)
    group = lines.field("group")
    lines.check(is_name(group))
    id_ = unhex(lines.field("id"), 16)
    lines.check(id_)
    epoch = decimal(lines.field("epoch"))
    lines.check(epoch)
    previous = lines.field("previous")
    if epoch == 1:
        lines.check(previous == "none")
        previous = None
    else:
        previous = unhex(previous, 32)
        lines.check(previous)
    owner = identity(lines.field("owner"))
    lines.check(owner.mlkem768 is None)
    count = decimal(lines.field("members"))
    lines.check(count)
    lines.check(count <= MAX_MEMBERS, "limit")
    names, identities = [], []
    for _ in range(count):
        name, space, member = lines.field("member").partition(" ")
        lines.check(space and is_name(name))
        lines.check(not names or names[-1] != name, "duplicate")
        lines.check(not names or names[-1] < name, "order")
        names.append(name)
        identities.append(member)
    head = lines.before()
    key = unbase64(lines.field("key"))
    lines.check(key)
    body = lines.before()
    signature = unbase64(lines.field("signature"))
    lines.check(signature is not None and len(signature) == 64)
    lines.end()
    message = b"endseal/roster@v1 signature\x00" + blake3(body.encode()).digest()
    lines.check(ed.verify(owner.ed25519, signature, message), "signature")
    named = {name: identity(member) for name, member in zip(names, identities)}
    keys = {without_sign(member.ed25519) for member in named.values()}
    lines.check(len(keys) == count, "duplicate")
    context = b"endseal/roster@v1 epoch key\x00" + id_ + epoch.to_bytes(8, "little")
    context += derive("endseal/roster@v1 head", head.encode())
    return Roster(text, group, id_, epoch, previous, owner.ed25519, count, key, context, named)


def identity(text):
    try:
        return public_identity(text)
    except IdentityError:
        raise IdentityError("identity") from None


def person(text):
    """ "Person record": its devices by number"""
    if len(text.encode()) > MAX_PERSON:
        raise IdentityError("limit")
    record = roster(text)
    check(record.group == "person", "person")
    root = record.named.get("root")
    check(root and root.ed25519 == record.owner and root.mlkem768, "root")
    devices = {}
    for name, member in record.named.items():
        if name != "root":
            number = decimal(name[7:]) if name.startswith("device-") else None
            check(number and number < 2**32, "member")
            devices[number] = member
    check(1 <= len(devices) <= 16, "devices")
    check(not any(device.mlkem768 for device in devices.values()), "long")
    check(record.sealed_epoch_key == b"\0", "key")
    return record, devices


def follows(new, held):
    """ "Chain" """
    for wrong, kind in (
        ((new.id, new.group) != (held.id, held.group), "group"),
        (new.owner != held.owner, "owner"),
        (new.epoch == held.epoch, "same" if new.text == held.text else "fork"),
        (new.epoch < held.epoch, "rollback"),
        (new.epoch == held.epoch + 1 and new.previous != held.digest(), "fork"),
        (new.epoch != held.epoch + 1, "gap"),
    ):
        if wrong:
            raise IdentityError(kind)


def person_follows(new, held):
    """ "Chain" and "Person record": no number gets another key"""
    follows(new[0], held[0])
    for number, device in new[1].items():
        before = held[1].get(number, device)
        check(before.ed25519 == device.ed25519, "device")
