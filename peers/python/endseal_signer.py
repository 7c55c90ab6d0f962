"""Records and audit log of the signer, version 1: an independent reader of docs/spec/signer.md."""

import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
ZERO = bytes(32)
NO_KIND = 0xFFFFFFFF


class Refused(Exception):
    """`kind` is the class of the refusal, `at` the line of a log."""

    def __init__(self, kind, at=None):
        super().__init__(kind)
        self.kind, self.at = kind, at


def check(condition, kind="value"):
    if not condition:
        raise Refused(kind)


class Fields:
    def __init__(self, value):
        self.rest = value

    def bytes(self, length):
        check(len(self.rest) >= length, "length")
        field, self.rest = self.rest[:length], self.rest[length:]
        return field

    def number(self, length, allowed=None):
        number = int.from_bytes(self.bytes(length), "little")
        check(allowed is None or number in allowed)
        return number

    def version(self):
        check(self.number(1) == 1, "version")

    def text(self, most=255, least=0):
        text = self.bytes(self.number(1))
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            raise Refused("value") from None
        check(least <= len(text) <= most)
        return decoded

    def long_text(self, most):
        text = self.bytes(self.number(2))
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            raise Refused("value") from None
        check(len(text) <= most)
        return decoded

    def relays(self):
        return [self.text(least=1) for _ in range(self.number(1, range(9)))]

    def public_key(self):
        key = self.bytes(32)
        check(is_public_key(key))
        return key

    def end(self):
        check(not self.rest, "length")


def is_public_key(key):
    x = int.from_bytes(key, "big")
    return x < P and pow(x**3 + 7, (P - 1) // 2, P) == 1


def named(name, length):
    check(len(name) == length, "length")


def settings(name, value):
    named(name, 0)
    fields = Fields(value)
    fields.version()
    found = {"floor": fields.number(8), "first_line": fields.number(8)}
    found |= {"next_app": fields.number(4), "relays": fields.relays()}
    found |= {"refuses_nip04": fields.number(1, (0, 1)) == 1}
    fields.end()
    check(found["first_line"] and found["next_app"])
    return found


def user(name, value):
    named(name, 32)
    check(is_public_key(name))
    fields = Fields(value)
    fields.version()
    made, label, text = fields.number(8), fields.text(64), fields.bytes(162)
    check(is_ncryptsec(text))
    found = {"made": made, "label": label, "ncryptsec": text.decode()}
    if fields.rest:
        following = fields.bytes(162)
        check(is_ncryptsec(following))
        found["next_ncryptsec"] = following.decode()
    fields.end()
    return found


def is_ncryptsec(text):
    """Lower-case bech32 (BIP-173) of 91 bytes with a head that NIP-49 has."""
    prefix, digits = b"ncryptsec", b"qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    if not text.startswith(prefix + b"1"):
        return False
    values = [digits.find(digit) for digit in text[len(prefix) + 1 :]]
    if -1 in values:
        return False
    spread = [letter >> 5 for letter in prefix] + [0] + [letter & 31 for letter in prefix]
    checksum = 1
    for value in spread + values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            checksum ^= generator if top >> bit & 1 else 0
    bits = "".join(f"{value:05b}" for value in values[:-6])
    content, padding = bits[: 91 * 8], bits[91 * 8 :]
    content = int(content, 2).to_bytes(91, "big")
    is_padded = len(padding) < 5 and "1" not in padding
    return checksum == 1 and is_padded and content[0] == 2 and content[1] in range(1, 23) and content[42] <= 2


def app(name, value):
    named(name, 32)
    fields = Fields(value)
    fields.version()
    number, state, flow = fields.number(4), fields.number(1, range(1, 5)), fields.number(1, (1, 2))
    fields.public_key()
    secret = int.from_bytes(fields.bytes(32), "big")
    check(1 <= secret < N)
    client = fields.bytes(32)
    check(client == ZERO or is_public_key(client))
    fields.bytes(32)
    _, until, _, ended = (fields.number(8) for _ in range(4))
    texts = fields.text(64), fields.text(64), fields.text()
    flags, wishes = fields.number(1, range(4)), fields.long_text(1024)
    relays = fields.relays()
    fields.end()
    check(number)
    has_client = {1: False, 2: True, 3: client != ZERO, 4: True}[state]
    check((client != ZERO) == has_client and (client != ZERO or flow == 1))
    check((ended != 0) == (state in (3, 4)) and (until != 0) == (flow == 1))
    public = ec.derive_private_key(secret, ec.SECP256K1()).public_key().public_numbers()
    check(public.x.to_bytes(32, "big") == name)
    found = dict(zip(("app_name", "claimed_name", "claimed_url"), texts))
    found |= {"number": number, "state": state, "flow": flow, "relays": relays}
    found |= {"flags": flags, "wishes": wishes}
    return found | {"invitation_expires": until, "ended": ended}


def rule(name, value):
    named(name, 36)
    number = rule_number(value)
    check(number == int.from_bytes(name[32:], "big"))
    return {"number": number}


def rule_number(value):
    """ "Bytes of a rule" of docs/spec/nostr-connect.md"""
    check(len(value) == 88, "length")
    fields = Fields(value)
    fields.version()
    effect, subject = fields.number(1, range(1, 4)), fields.number(1, range(1, 7))
    bound, first, last = fields.number(1, range(3)), fields.number(2), fields.number(2)
    bound_value, number = fields.bytes(32), fields.number(4)
    made, expires, uses = fields.number(8), fields.number(8), fields.number(4)
    rate, window, used = fields.number(4), fields.number(4), fields.number(4)
    begin, in_window = fields.number(8), fields.number(4)
    credential = subject == 1 and first == last and first in (22242, 27235)
    check(number and first <= last and (subject in (1, 6) or last == 0))
    check(bound or bound_value == ZERO)
    check(bound != 1 or subject not in (1, 6))
    check(bound != 2 or credential)
    check(not expires or expires > made)
    if credential and effect == 1:
        check(bound == 2 and 0 < expires <= made + 90 * 86400)
    check((rate == 0) == (window == 0) and in_window <= min(rate, used))
    check((not uses or used <= uses) and (in_window or not begin))
    check(effect == 1 or not (uses or rate or used))
    return number


def head(name, value):
    named(name, 0)
    fields = Fields(value)
    number = fields.number(8)
    fields.bytes(32)
    fields.end()
    check(number)
    return {"number": number}


def line(name, value):
    named(name, 8)
    fields = Fields(value)
    fields.bytes(32)
    fields.version()
    found = {"number": fields.number(8), "time": fields.number(8), "matter": fields.number(1, range(1, 18))}
    found |= {"app": fields.number(4), "rule": fields.number(4)}
    found |= {"verdict": fields.number(1, range(7)), "method": fields.number(1, range(12))}
    kind = fields.number(4)
    check(kind < 65536 or kind == NO_KIND)
    fields.bytes(128)
    found |= {"event_kind": None if kind == NO_KIND else kind, "created_at": fields.number(8), "text": fields.text()}
    fields.end()
    check(found["number"] and found["number"] == int.from_bytes(name, "big"))
    return found


RECORDS = {
    "settings": settings,
    "user": user,
    "app": app,
    "rule": rule,
    "line": line,
    "head": head,
}


@dataclass(frozen=True)
class Head:
    number: int
    hash: bytes


def verify(lines, head_value, start_value, noted):
    """ "Verification": lines are pairs of name and value; returns the last line."""
    last = Head(0, ZERO)
    passed = {last}
    if start_value is not None:
        try:
            head(b"", start_value)
        except Refused:
            raise Refused("start", 0) from None
        last = Head(int.from_bytes(start_value[:8], "little"), start_value[8:])
        passed.add(last)
    for name, value in sorted(lines):
        number = last.number + 1
        if name != number.to_bytes(8, "big"):
            raise Refused("missing", number)
        try:
            line(name, value)
        except Refused as refused:
            raise Refused(refused.kind, number) from None
        stored, body = value[:32], value[32:]
        last = Head(number, hashlib.sha256(b"endseal signer log 1" + last.hash + body).digest())
        if last.hash != stored:
            raise Refused("hash", number)
        passed.add(last)
    end = Head(0, ZERO)
    if head_value is not None:
        try:
            head(b"", head_value)
        except Refused:
            raise Refused("head", last.number) from None
        end = Head(int.from_bytes(head_value[:8], "little"), head_value[8:])
    if end.number > last.number:
        raise Refused("missing", last.number + 1)
    if end != last:
        raise Refused("head", end.number + 1)
    if noted is not None and noted not in passed:
        raise Refused("noted", noted.number)
    return last
