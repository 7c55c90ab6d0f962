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

MAX_MEMBERS, MAX_LEN, MAX_PERSON, MAX_TRANSFERS = 65536, 64 << 20, 8192, 16


@dataclass(frozen=True)
class Roster:
    text: str
    group: str
    id: bytes
    epoch: int
    previous: bytes | None
    owner: bytes
    transfers: list
    admins: list
    signing_owner: bytes
    signer: bytes
    by_admin: bool
    members: int
    sealed_epoch_key: bytes
    context: bytes
    named: dict

    def digest(self):
        return derive("endseal/roster@v1 digest", self.text.encode())


@dataclass(frozen=True)
class Transfer:
    line: str
    epoch: int
    former: bytes
    signature: bytes


@dataclass(frozen=True)
class Admin:
    line: str
    name: str
    epoch: int
    signature: bytes


def derive(label, material):
    return blake3(material, derive_key_context=label).digest()


def unhex(text, length):
    return bytes.fromhex(text) if re.fullmatch(rf"[0-9a-f]{{{2 * length}}}", text) else None


def lines_of(lines, field):
    """The values of all lines of that field that come next."""
    while lines.text.startswith(field + " ", lines.at):
        yield lines.field(field)


def signature_of(lines, text):
    signature = unbase64(text)
    lines.check(signature is not None and len(signature) == 64)
    return signature


def short_identity(lines, text):
    owner = identity(text)
    lines.check(owner.mlkem768 is None)
    return owner.ed25519


def read_transfers(lines, epoch):
    """ "Transfers", without their signatures"""
    found = []
    for line in lines_of(lines, "transfer"):
        lines.check(len(found) < MAX_TRANSFERS, "limit")
        words = line.split(" ")
        lines.check(len(words) == 3)
        first = decimal(words[0])
        lines.check(first and (found[-1].epoch if found else 1) < first <= epoch)
        former = short_identity(lines, words[1])
        found.append(Transfer(line, first, former, signature_of(lines, words[2])))
    return found


def read_admins(lines, after, epoch):
    """ "Admins", without their signatures"""
    found = []
    for line in lines_of(lines, "admin"):
        words = line.split(" ")
        lines.check(len(words) == 3 and is_name(words[0]))
        lines.check(not found or found[-1].name != words[0], "duplicate")
        lines.check(not found or found[-1].name < words[0], "order")
        first = decimal(words[1])
        lines.check(first and after < first <= epoch)
        found.append(Admin(line, words[0], first, signature_of(lines, words[2])))
    return found


def grants(by, signature, right, id_, epoch, to):
    message = f"endseal/roster@v1 {right}".encode() + b"\0" + id_ + epoch.to_bytes(8, "little") + to
    return ed.verify(by, signature, message)


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
    owner = short_identity(lines, lines.field("owner"))
    head = lines.before()
    transfers = read_transfers(lines, epoch)
    admins = read_admins(lines, transfers[-1].epoch if transfers else 0, epoch)
    by_admin = lines.text.startswith("signer ", lines.at)
    signers = [lines.field("signer")] if by_admin else []
    lines.check(all(is_name(name) for name in signers))
    lines.check(all(name in [admin.name for admin in admins] for name in signers), "admin")
    start = lines.at
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
    head += lines.text[start : lines.at]
    key = unbase64(lines.field("key"))
    lines.check(key)
    body = lines.before()
    signature = signature_of(lines, lines.field("signature"))
    lines.end()

    next_owners = [transfer.former for transfer in transfers[1:]] + [owner]
    for it, to in zip(transfers, next_owners):
        right = grants(it.former, it.signature, "transfer", id_, it.epoch, to)
        lines.check(right, "signature")
    handed_on_now = bool(transfers) and transfers[-1].epoch == epoch
    signing_owner = signer = transfers[-1].former if handed_on_now else owner
    for name in signers:
        lines.check(name in names, "admin")
        signer = identity(identities[names.index(name)]).ed25519
        it = next(admin for admin in admins if admin.name == name)
        lines.check(grants(owner, it.signature, "admin", id_, it.epoch, signer), "signature")
    message = b"endseal/roster@v1 signature\x00" + blake3(body.encode()).digest()
    lines.check(ed.verify(signer, signature, message), "signature")

    named = {name: identity(member) for name, member in zip(names, identities)}
    keys = {without_sign(member.ed25519) for member in named.values()}
    lines.check(len(keys) == count, "duplicate")
    for it in admins:
        lines.check(it.name in named and named[it.name].ed25519 != owner, "admin")
    for it in admins:
        member = named[it.name].ed25519
        lines.check(grants(owner, it.signature, "admin", id_, it.epoch, member), "signature")
    members = [member.ed25519 for member in named.values()]
    lines.check(not handed_on_now or owner in members, "owner")
    context = b"endseal/roster@v1 epoch key\x00" + id_ + epoch.to_bytes(8, "little")
    context += derive("endseal/roster@v1 head", head.encode())
    return Roster(
        text=text,
        group=group,
        id=id_,
        epoch=epoch,
        previous=previous,
        owner=owner,
        transfers=transfers,
        admins=admins,
        signing_owner=signing_owner,
        signer=signer,
        by_admin=by_admin,
        members=count,
        sealed_epoch_key=key,
        context=context,
        named=named,
    )


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
    check(record.group == "person" and not record.transfers and not record.admins, "person")
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


def continues(later, earlier):
    """ "Chain": the owners of one roster begin with those of the other"""
    lines = [transfer.line for transfer in earlier.transfers]
    if [transfer.line for transfer in later.transfers[: len(lines)]] != lines:
        return False
    more = later.transfers[len(lines) :]
    if not more:
        return later.owner == earlier.owner
    return more[0].former == earlier.owner and more[0].epoch > earlier.epoch


def within_rights_of_admin(new, held):
    """ "Rights of admins" """
    lines = {admin.line for admin in held.admins}
    missed = range(held.epoch + 1, new.epoch)
    if not all(admin.line in lines or admin.epoch in missed for admin in new.admins):
        return False
    kept = [name for name, member in held.named.items() if member.ed25519 == new.owner]
    return all(new.named.get(name) == held.named[name] for name in kept)


def follows(new, held):
    """ "Chain" """
    check(new.id == held.id, "group")
    older = new.epoch < held.epoch
    check(continues(held, new) if older else continues(new, held), "owner")
    check(not older, "rollback")
    check(new.text != held.text, "same")
    check(not new.by_admin or within_rights_of_admin(new, held), "admin")
    check(new.epoch != held.epoch, "fork")
    check(new.epoch != held.epoch + 1 or new.previous == held.digest(), "fork")
    check(new.epoch == held.epoch + 1, "gap")


def person_follows(new, held):
    """ "Chain" and "Person record": no number gets another key"""
    follows(new[0], held[0])
    for number, device in new[1].items():
        before = held[1].get(number, device)
        check(before.ed25519 == device.ed25519, "device")
