"""Identities, version 1: an independent reader of docs/spec/identity.md.

Written from that document alone; headings in quotes are headings of it.  Nothing here is constant
time, and nothing is wiped: it must not be used to protect anything.
"""

import base64
import binascii
import re
import unicodedata
from dataclasses import dataclass
from hashlib import sha256

from blake3 import blake3
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PrivateKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from mnemonic import Mnemonic

import ed25519_cofactored as ed
from endseal_envelope import (
    AuthenticationError,
    chunk_keys,
    decrypt_chunks,
    ed25519_public,
    mlkem768_public,
)

MLKEM_EK, MLKEM_Q = 1184, 3329
SHORT, LONG, PEER, SECRET = "endseal", "endsealpq", "endsealpeer", "endseal-secret-"
JOIN, LINK = "endsealjoin", "endseallink"
LINK_LEN = 1 + 32 + 32 + MLKEM_EK + 64 + 4 * 32
PAYLOAD = {SHORT: 32, LONG: 32 + MLKEM_EK + 64, PEER: 32, SECRET: 96}
MAX_BOOK, MAX_ENTRIES = 64 << 20, 65536
MAX_FILE, SEALED = 4096, (104, 168)
NO_PASSPHRASE = "endseal without passphrase"


class IdentityError(Exception):
    """`kind` is the class that the vectors name."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def check(condition, kind):
    if not condition:
        raise IdentityError(kind)


def derive(label, material):
    return blake3(material, derive_key_context=label).digest()


# ------------------------------------------------------------------------------- "Valid keys"


def check_ed25519(key):
    """Canonical, on the curve, in the subgroup of prime order and not its neutral element."""
    point = ed.decompress(key)
    check(point is not None and not ed.is_low_order(point), "key")
    check(ed.is_identity(ed.multiply(ed.L, point)), "key")


def check_mlkem768(ek):
    for i in range(0, MLKEM_EK - 32, 3):
        pair = int.from_bytes(ek[i : i + 3], "little")
        check(pair & 0xFFF < MLKEM_Q and pair >> 12 < MLKEM_Q, "key")


def without_sign(key):
    return key[:31] + bytes([key[31] & 0x7F])


# ------------------------------------------------------------------------------- "Bech32m"

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def polymod(values):
    check_ = 1
    for value in values:
        top = check_ >> 25
        check_ = (check_ & 0x1FFFFFF) << 5 ^ value
        for i, generator in enumerate(GENERATOR):
            check_ ^= generator if top >> i & 1 else 0
    return check_


def expand(prefix):
    return [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]


def bech32m(prefix, payload):
    """The text of a payload, in lower case."""
    bits = int.from_bytes(payload, "big") << (-len(payload) * 8 % 5)
    count = -(-len(payload) * 8 // 5)
    values = [bits >> 5 * (count - 1 - i) & 31 for i in range(count)]
    remainder = polymod(expand(prefix) + values + [0] * 6) ^ 0x2BC830A3
    values += [remainder >> 5 * (5 - i) & 31 for i in range(6)]
    return prefix + "1" + "".join(ALPHABET[v] for v in values)


def unbech32m(prefix, text, letters="a-z", sizes=None):
    """The payload of a text that begins with prefix and "1"; steps 2 to 6 of "Public identity"."""
    data = text[len(prefix) + 1 :]
    size = PAYLOAD[prefix] if sizes is None else (len(data) - 6) * 5 // 8
    count = -(-size * 8 // 5)
    check(re.fullmatch(f"[0-9{letters}]*", data), "character")
    check(len(data) == count + 6 and (sizes is None or size in sizes), "length")
    data = data.lower()
    check(all(c in ALPHABET for c in data), "character")
    values = [ALPHABET.index(c) for c in data]
    check(polymod(expand(prefix) + values) == 0x2BC830A3, "checksum")
    bits = 0
    for value in values[:count]:
        bits = bits << 5 | value
    padding = 5 * count - 8 * size
    check(bits & (1 << padding) - 1 == 0, "padding")
    return (bits >> padding).to_bytes(size, "big")


def refuse_prefix(text, prefixes):
    lower = text.lower()
    check(not any(lower.startswith(p + "1") for p in prefixes), "character")
    raise IdentityError("prefix")


# ------------------------------------------------------------------------------- text forms


@dataclass(frozen=True)
class Public:
    ed25519: bytes
    mlkem768: bytes | None = None
    signature: bytes | None = None

    @classmethod
    def of_seeds(cls, ed25519_seed, mlkem768_seed):
        ek = mlkem768_public(mlkem768_seed)
        signing = Ed25519PrivateKey.from_private_bytes(ed25519_seed)
        return cls(ed25519_public(ed25519_seed), ek, signing.sign(kem_key_message(ek)))

    def text(self):
        if self.mlkem768 is None:
            return bech32m(SHORT, self.ed25519)
        return bech32m(LONG, self.ed25519 + self.mlkem768 + self.signature)


def kem_key_message(ek):
    return b"endseal/identity@v1 kem key\x00" + blake3(ek).digest()


def public_identity(text):
    """ "Public identity" """
    for prefix in (SHORT, LONG):
        if text.startswith(prefix + "1"):
            payload = unbech32m(prefix, text)
            break
    else:
        refuse_prefix(text, (SHORT, LONG))
    key, ek, signature = payload[:32], payload[32 : 32 + MLKEM_EK], payload[32 + MLKEM_EK :]
    check_ed25519(key)
    if prefix == SHORT:
        return Public(key)
    check_mlkem768(ek)
    check(ed.verify(key, signature, kem_key_message(ek)), "signature")
    return Public(key, ek, signature)


def peer_id(text):
    """ "Peer id" """
    if not text.startswith(PEER + "1"):
        refuse_prefix(text, (PEER,))
    return unbech32m(PEER, text)


def invitation(text):
    """ "Invitation": hub, token, addresses, and name and identity of the inviter or None."""
    if not text.startswith(JOIN + "1"):
        refuse_prefix(text, (JOIN,))
    payload = unbech32m(JOIN, text, sizes=range(66 + 3, 66 + 64 + 32 + 256))
    check(payload[0] == 1, "version")
    length, addresses, inviter = payload[65], payload[66:], None
    if length:
        check(len(addresses) >= length, "length")
        name, rest = addresses[:length], addresses[length:]
        check(name.isascii() and is_name(name.decode()), "inviter")
        check(len(rest) >= 32, "length")
        try:
            check_ed25519(rest[:32])
        except IdentityError:
            raise IdentityError("inviter") from None
        inviter, addresses = (name.decode(), rest[:32]), rest[32:]
    check(len(addresses) <= 255, "length")
    each = rb"[!-~]+:0*[1-9][0-9]*"
    check(re.fullmatch(rb"%s( %s)*" % (each, each), addresses), "addresses")
    check(all(int(it.rsplit(b":", 1)[1]) < 65536 for it in addresses.split(b" ")), "addresses")
    return payload[1:33], payload[33:65], addresses.decode(), inviter


def link(text):
    """ "Link": secret, identity, peer id, three keys and the number that people compare."""
    text = "".join(text.split())
    if not text.startswith(LINK + "1"):
        raise IdentityError("prefix")
    payload = unbech32m(LINK, text, sizes={LINK_LEN})
    check(payload[0] == 1, "version")
    secret, key, rest = payload[1:33], payload[33:65], payload[65:]
    ek, signature, rest = rest[:MLKEM_EK], rest[MLKEM_EK : MLKEM_EK + 64], rest[MLKEM_EK + 64 :]
    check_ed25519(key)
    check_mlkem768(ek)
    check(ed.verify(key, signature, kem_key_message(ek)), "signature")
    peer, agreement, signing, group = (rest[at : at + 32] for at in range(0, 128, 32))
    check(int.from_bytes(agreement, "little") < 2**255 - 19, "key")
    check_ed25519(signing)
    check_ed25519(group)
    material = blake3(payload, derive_key_context="endseal/link@v1 check number").digest(20)
    groups = (int.from_bytes(material[at : at + 5], "big") % 100_000 for at in range(0, 20, 5))
    number = " ".join(f"{it:05}" for it in groups)
    return secret, Public(key, ek, signature), peer, agreement, signing, group, number


def secret(text):
    """ "Secret text": the two seeds."""
    mark = SECRET.upper() + "1"
    if not text.startswith(mark):
        refuse_prefix(text, (SECRET,))
    payload = unbech32m(SECRET, text, "A-Z")
    return payload[:32], payload[32:]


def mldsa65_seed(ed25519_seed, mlkem768_seed):
    return derive("endseal/identity@v1 ml-dsa-65 seed", ed25519_seed + mlkem768_seed)


def spki(seed):
    public = MLDSA65PrivateKey.from_seed_bytes(seed).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return public.public_bytes(serialization.Encoding.DER, form)


def store_key(ed25519_seed, mlkem768_seed):
    return derive("endseal/identity@v1 store key", ed25519_seed + mlkem768_seed)


# ------------------------------------------------------------------------------- "Root seed"

WORDS = Mnemonic("english").wordlist


def seeds_of_root(root):
    """The two seeds."""
    label = "endseal/identity@v1 root "
    kem = blake3(root, derive_key_context=label + "ml-kem-768 seed").digest(length=64)
    return derive(label + "ed25519 seed", root), kem


def paper(text):
    """ "Paper": the root seed."""
    words = [word for word in re.split(r"[ \t\n\f\r]+", text) if word]
    check(len(words) == 24, "count")
    bits = 0
    for word in words:
        lower = word.translate({upper: upper + 32 for upper in range(65, 91)})
        check(lower in WORDS, "word")
        bits = bits << 11 | WORDS.index(lower)
    root = (bits >> 8).to_bytes(32, "big")
    check(sha256(root).digest()[0] == bits & 0xFF, "checksum")
    return root


def paper_text(root):
    bits = int.from_bytes(root + sha256(root).digest()[:1], "big")
    return " ".join(WORDS[bits >> 11 * (23 - i) & 2047] for i in range(24))


# ------------------------------------------------------------------------------- "Line format"


class Lines:
    def __init__(self, text, kind, error):
        self.error = error
        head = re.match(rf"endseal {kind} v(0|[1-9][0-9]*)(?:\n|$)", text)
        self.check(head)
        check(head[1] == "1", "version")
        self.check(re.fullmatch(r"[\n -~]*", text))
        self.text, self.at = text, 0
        self.line()

    def check(self, condition, kind="form"):
        if not condition:
            raise self.error(kind)

    def line(self):
        end = self.text.find("\n", self.at)
        self.check(end >= 0)
        line, self.at = self.text[self.at : end], end + 1
        return line

    def field(self, name):
        line = self.line()
        self.check(line.startswith(name + " "))
        return line[len(name) + 1 :]

    def before(self):
        return self.text[: self.at]

    def end(self):
        self.check(self.at == len(self.text))


def unbase64(text):
    """The bytes of canonical base64, or None."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def decimal(text):
    """A number below 2^64 without leading zeros, or None."""
    if not re.fullmatch(r"0|[1-9][0-9]*", text) or int(text) >= 2**64:
        return None
    return int(text)


# ------------------------------------------------------------------------------- "Identity file"


def identity_file(text, passphrase):
    """ "Opening": the root seed or None, and the two seeds.  Without a passphrase, those of a file that needs none."""
    check(len(text.encode()) <= MAX_FILE, "limit")
    lines = Lines(text, "identity", IdentityError)
    public = lines.field("public")
    claimed = public_identity(public)
    lines.check(claimed.mlkem768 is not None)
    m, t, p, salt = kdf(lines, lines.field("kdf"))
    header = lines.before()
    sealed = unbase64(lines.field("sealed"))
    lines.check(sealed is not None and len(sealed) in SEALED)
    lines.end()
    if passphrase is None:
        check((m, t, p) == (8192, 1, 1), "authentication")
        passphrase = NO_PASSPHRASE
    normal = unicodedata.normalize("NFKC", passphrase)
    for form in dict.fromkeys((normal, passphrase)):
        argon2id = Argon2id(salt=salt, length=32, iterations=t, lanes=p, memory_cost=m)
        stretched = argon2id.derive(form.encode())
        key = derive("endseal/identity-file@v1 file key", stretched + header.encode())
        chunk_key, base, commitment = chunk_keys(key, sealed[:24], b"")
        if commitment == sealed[24:56]:
            break
    check(commitment == sealed[24:56], "authentication")
    try:
        seeds = decrypt_chunks(chunk_key, base, sealed[56:])
    except AuthenticationError:
        raise IdentityError("authentication") from None
    root = seeds if len(seeds) == 32 else None
    pair = seeds_of_root(root) if root else (seeds[:32], seeds[32:])
    check(Public.of_seeds(*pair).text() == public, "mismatch")
    return root, pair


def kdf(lines, value):
    words = value.split(" ")
    lines.check(len(words) == 5 and words[0] == "argon2id")
    m, t, p = map(decimal, words[1:4])
    salt = unbase64(words[4])
    lines.check(None not in (m, t, p, salt) and len(salt) == 16)
    check(8192 <= m <= 1048576 and 1 <= t <= 16 and 1 <= p <= 4 and m * t <= 4194304, "limit")
    return m, t, p, salt


# ------------------------------------------------------------------------------- "Contacts"

CONTACTS_HEADER = '# endseal contacts: one "name identity" a line. Comments are not kept.\n'
PEERS_HEADER = '# endseal peers: one "name peer-id" a line. Comments are not kept.\n'


def is_name(text):
    """ "Names" """
    reserved = (SHORT + "1", LONG + "1", PEER + "1", SECRET)
    return re.fullmatch(r"[a-z0-9_][a-z0-9._-]{0,63}", text) and not text.startswith(reserved)


def contacts(text):
    """The canonical form."""
    return book(text, CONTACTS_HEADER, lambda word: without_sign(public_identity(word).ed25519))


def peers(text):
    """The canonical form."""
    return book(text, PEERS_HEADER, peer_id)


def book(text, header, key_of):
    check(len(text.encode()) <= MAX_BOOK, "limit")
    entries, keys = {}, set()
    for line in text.split("\n"):
        line = line.strip(" \t\n\f\r")
        if not line or line.startswith("#"):
            continue
        words = re.split(r"[ \t\n\f\r]+", line)
        check(len(words) == 2, "form")
        name, word = words
        check(is_name(name), "name")
        key = key_of(word)
        check(name not in entries and key not in keys, "duplicate")
        check(len(entries) < MAX_ENTRIES, "limit")
        entries[name] = word
        keys.add(key)
    text = header + "".join(f"{name} {entries[name]}\n" for name in sorted(entries))
    check(len(text) <= MAX_BOOK, "limit")
    return text
