"""The endseal envelope, version 1: an independent reader and a deterministic sealer.

Written from docs/spec/envelope.md alone; headings in quotes are headings of that document.  The
sealer takes every random value from the caller and exists for test vectors: it must not be used
to protect anything.
"""

import bisect
import hashlib
import hmac
import itertools
import struct
from dataclasses import dataclass

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from kyber_py.ml_kem import ML_KEM_768

from ed25519_cofactored import P, recipient_u, verify

# "Format"
MAGIC = bytes.fromhex("e5656e76")
VERSION = 1
HEADER = 100
X25519, COMPACT, HYBRID = 1, 2, 3
BODY = {X25519: 32, COMPACT: 16, HYBRID: 1120}
SUITE_NAMES = {X25519: "x25519", COMPACT: "x25519-compact", HYBRID: "x25519-mlkem768"}
MLKEM_EK, MLKEM_CT = 1184, 1088

# "Format", limits
MAX_COUNT = 2**20
MAX_CONTEXT = 1024
MAX_TRIES = 16

# "Content" and C2SP chunked encryption
PRELUDE = 56
BLOCK = 4 * 1024 * 1024
SIGNATURE = 64
CHUNK = 16384
TAG = 16
MAX_CHUNKS = 2**38


class EnvelopeError(Exception):
    """Base of the four error classes of "Opening"; `kind` is the name used by the vectors."""

    kind = None

    def __init__(self, message=None):
        super().__init__(message or self.kind)


class VersionError(EnvelopeError):
    """Unknown version or suite."""

    kind = "version"


class HeaderError(EnvelopeError):
    """Not an envelope, truncated before the chunks, or a malformed header."""

    kind = "header"


class LimitError(EnvelopeError):
    """Count beyond the limit."""

    kind = "limit"


class AuthenticationError(EnvelopeError):
    """Anything from step 4 on; never says which check failed."""

    kind = "authentication"


@dataclass(frozen=True)
class Opened:
    suite: int
    sender: bytes
    message_id: bytes
    time: int
    content: bytes


# ------------------------------------------------------------------------------- primitives


def _hash(message):
    return blake3(message).digest()


def _derive(context, material, length=32):
    return blake3(material, derive_key_context=context).digest(length=length)


def _keyed(key, message, length=32):
    return blake3(message, key=key).digest(length=length)


def _xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def _x25519(k, u):
    """RFC 7748; raises ValueError if the result is zero."""
    return X25519PrivateKey.from_private_bytes(k).exchange(X25519PublicKey.from_public_bytes(u))


def _raw(public_key):
    return public_key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def ed25519_public(seed):
    return _raw(Ed25519PrivateKey.from_private_bytes(seed).public_key())


def mlkem768_public(seed):
    """The encapsulation key of a 64-byte seed d || z."""
    return _raw(MLKEM768PrivateKey.from_seed_bytes(seed).public_key())


# ------------------------------------------------------------------------------- key schedule


def header_digest(envelope, context):
    """ "Header digest" """
    if len(context) > MAX_CONTEXT:
        raise ValueError("context is longer than 1,024 bytes")
    return _derive("endseal/envelope@v1 header", bytes(envelope[:64]) + context)


def content_key(suite, material, h):
    """ "Content key": K from the key material that a slot carries."""
    if suite == COMPACT:
        return _derive("endseal/envelope@v1 compact content key", material + h)
    return material


def chunk_keys(k, salt, h):
    """ "Content key": (key, base nonce, commitment) of chunked encryption."""
    info = b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\x00" + salt + h
    okm = HKDFExpand(hashes.SHA512(), 76, info).derive(k)
    return okm[:32], okm[32:44], okm[44:]


def signed_message(h, commitment, prelude, index, last, block):
    """ "Content": the 191 bytes under signature number `index`."""
    return (
        b"endseal/envelope@v1 signature\x00"
        + h
        + commitment
        + prelude
        + struct.pack("<QB", index, last)
        + _hash(block)
    )


def hybrid_pad(h, x, u, s, ct, ek):
    """ "Slots": the pad of suite 3."""
    return _keyed(h, x + u + s + ct + _hash(ek))


# ------------------------------------------------------------------------------- chunks


def _nonce(base, number):
    if number >= MAX_CHUNKS:
        raise ValueError("more than 2^38 chunks")
    return _xor(base, number.to_bytes(12, "big"))


def encrypt_chunks(key, base, plaintext):
    aead, view_ = AESGCM(key), memoryview(plaintext)
    return b"".join(
        aead.encrypt(_nonce(base, i), view_[i * CHUNK : (i + 1) * CHUNK], None)
        for i in range(len(plaintext) // CHUNK + 1)
    )


def decrypt_chunks(key, base, data):
    """The plaintext; the last chunk is shorter than the others and may be empty, not missing."""
    full, rest = divmod(len(data), CHUNK + TAG)
    if rest < TAG or full >= MAX_CHUNKS:
        raise AuthenticationError
    aead, size = AESGCM(key), CHUNK + TAG
    try:
        return b"".join(
            aead.decrypt(_nonce(base, i), data[i * size : (i + 1) * size], None)
            for i in range(full + 1)
        )
    except InvalidTag:
        raise AuthenticationError from None


# ------------------------------------------------------------------------------- reader


@dataclass(frozen=True)
class _Parsed:
    suite: int
    epk: bytes
    salt: bytes
    commitment: bytes
    tags: tuple  # as big-endian integers, which compare as the byte strings do
    bodies: memoryview
    chunks: memoryview

    def body(self, i):
        size = BODY[self.suite]
        return bytes(self.bodies[i * size : (i + 1) * size])


def parse(envelope):
    """ "Opening", steps 1 to 3."""
    env = memoryview(envelope).cast("B")
    if len(env) < HEADER or env[0:4] != MAGIC:
        raise HeaderError
    suite = env[5]
    if env[4] != VERSION or suite not in BODY:
        raise VersionError
    if env[6:8] != b"\x00\x00":
        raise HeaderError
    epk = bytes(env[8:40])
    count = int.from_bytes(env[96:100], "little")
    if int.from_bytes(epk, "little") >= P or count == 0:
        raise HeaderError
    if count > MAX_COUNT:
        raise LimitError
    bodies, chunks = HEADER + 4 * count, HEADER + (4 + BODY[suite]) * count
    if len(env) < chunks:
        raise HeaderError
    tags = struct.unpack_from(f">{count}I", env, HEADER)
    if any(a > b for a, b in zip(tags, tags[1:])):
        raise HeaderError
    salt, commitment = bytes(env[40:64]), bytes(env[64:96])
    return _Parsed(suite, epk, salt, commitment, tags, env[bodies:chunks], env[chunks:])


def _find(envelope, ed25519_seed, mlkem768_seed, context):
    """ "Opening", steps 1 to 4: (parsed, H, slot index, chunk key, base nonce)."""
    parsed = parse(envelope)
    h = header_digest(envelope, context)
    mlkem = None
    if parsed.suite == HYBRID:
        if mlkem768_seed is None:
            raise AuthenticationError
        mlkem = MLKEM768PrivateKey.from_seed_bytes(mlkem768_seed)
        ek = _raw(mlkem.public_key())
    secret = hashlib.sha512(ed25519_seed).digest()[:32]
    u = recipient_u(ed25519_public(ed25519_seed))
    try:
        x = _x25519(secret, parsed.epk)
    except ValueError:
        raise AuthenticationError from None
    slot = _keyed(h, x + u, 64)
    tag = int.from_bytes(slot[:4], "big")
    first = bisect.bisect_left(parsed.tags, tag)
    # Every reader makes as many tries as the longest run of equal tags, whatever it finds.
    tries = min(MAX_TRIES, max(sum(1 for _ in run) for _, run in itertools.groupby(parsed.tags)))
    found = None
    for i in range(first, first + tries):
        own = i < len(parsed.tags) and parsed.tags[i] == tag
        body = parsed.body(i) if own else bytes(BODY[parsed.suite])
        if mlkem is None:
            material = _xor(body, slot[32 : 32 + len(body)])
        else:
            ct, masked = body[:MLKEM_CT], body[MLKEM_CT:]
            material = _xor(masked, hybrid_pad(h, x, u, mlkem.decapsulate(ct), ct, ek))
        key, base, commitment = chunk_keys(content_key(parsed.suite, material, h), parsed.salt, h)
        if hmac.compare_digest(commitment, parsed.commitment) and found is None:
            found = parsed, h, i, key, base
    if found is None:
        raise AuthenticationError
    return found


def find_slot(envelope, ed25519_seed, mlkem768_seed, context):
    """The index of the recipient's slot."""
    return _find(envelope, ed25519_seed, mlkem768_seed, context)[2]


def open_envelope(envelope, ed25519_seed, mlkem768_seed, context):
    """ "Opening", steps 1 to 5.  Step 6 is the application's."""
    parsed, h, _, key, base = _find(envelope, ed25519_seed, mlkem768_seed, context)
    plaintext = memoryview(decrypt_chunks(key, base, parsed.chunks))
    prelude, rest = bytes(plaintext[:PRELUDE]), plaintext[PRELUDE:]
    # One length has one layout: n full blocks and one shorter, each with its signature.
    count = len(rest) // (BLOCK + SIGNATURE) + 1
    if len(prelude) < PRELUDE or len(rest) % (BLOCK + SIGNATURE) < SIGNATURE:
        raise AuthenticationError
    sender, blocks = prelude[:32], []
    for k in range(count):
        part = rest[k * (BLOCK + SIGNATURE) : (k + 1) * (BLOCK + SIGNATURE)]
        block, signature = part[:-SIGNATURE], bytes(part[-SIGNATURE:])
        message = signed_message(h, parsed.commitment, prelude, k, k == count - 1, block)
        if not verify(sender, signature, message):
            raise AuthenticationError
        blocks.append(block)
    time = int.from_bytes(prelude[48:56], "little")
    return Opened(parsed.suite, sender, prelude[32:48], time, b"".join(blocks))


def view(envelope, i):
    """ "Views": the envelope with slot i only."""
    parsed = parse(envelope)
    if not 0 <= i < len(parsed.tags):
        raise IndexError("no such slot")
    tag = parsed.tags[i].to_bytes(4, "big")
    return b"".join((envelope[:96], struct.pack("<I", 1), tag, parsed.body(i), parsed.chunks))


# ------------------------------------------------------------------------------- sealer


@dataclass(frozen=True)
class Recipient:
    """`mlkem768` (encapsulation key) and `m` (encapsulation randomness) are for suite 3."""

    ed25519: bytes
    mlkem768: bytes | None = None
    m: bytes | None = None


def seal(suite, recipients, context, content, *, sender_seed, e, key, salt, message_id, time,
         decoys=(), insider=lambda plaintext: plaintext):  # fmt: skip
    """Seals with the given values.  `key` is K, in suite 2 the seed.

    A decoy is a pair of 12 bytes, in the place of mask[0..12], and a whole body.  `insider` maps the
    plaintext of chunked encryption to what is encrypted instead.
    """
    if len(key) != (16 if suite == COMPACT else 32):
        raise ValueError("key material of the wrong length")
    if (len(e), len(salt), len(message_id)) != (32, 24, 16):
        raise ValueError("a random value of the wrong length")
    epk = _raw(X25519PrivateKey.from_private_bytes(e).public_key())
    head = MAGIC + bytes((VERSION, suite, 0, 0)) + epk + salt
    h = header_digest(head, context)
    chunk_key, base, commitment = chunk_keys(content_key(suite, key, h), salt, h)

    # "Keys" and "Slots"; entries are (mask[0..12], body), so that they sort as required.
    entries, seen = [], set()
    for recipient in recipients:
        u = recipient_u(recipient.ed25519)
        if u is None:
            raise ValueError("refused recipient key")
        if u in seen:
            continue
        seen.add(u)
        x = _x25519(e, u)
        mask = _keyed(h, x + u, 64)
        if suite == HYBRID:
            # Checks the length and the modulus of ek; returns (S, ct).
            s, ct = ML_KEM_768._encaps_internal(recipient.mlkem768, recipient.m)
            body = ct + _xor(key, hybrid_pad(h, x, u, s, ct, recipient.mlkem768))
        else:
            body = _xor(key, mask[32 : 32 + len(key)])
        entries.append((mask[:12], body))
    for sort_key, body in decoys:
        if len(sort_key) != 12 or len(body) != BODY[suite]:
            raise ValueError("malformed decoy")
        entries.append((sort_key, body))
    if not 1 <= len(entries) <= MAX_COUNT:
        raise ValueError("number of slots")
    entries.sort()

    signer = Ed25519PrivateKey.from_private_bytes(sender_seed)
    prelude = _raw(signer.public_key()) + message_id + struct.pack("<Q", time)
    plaintext, last = bytearray(prelude), len(content) // BLOCK
    for k in range(last + 1):
        block = content[k * BLOCK : (k + 1) * BLOCK]
        plaintext += block
        plaintext += signer.sign(signed_message(h, commitment, prelude, k, k == last, block))
    return b"".join(
        [head, commitment, struct.pack("<I", len(entries))]
        + [sort_key[:4] for sort_key, _ in entries]
        + [body for _, body in entries]
        + [encrypt_chunks(chunk_key, base, insider(bytes(plaintext)))]
    )
