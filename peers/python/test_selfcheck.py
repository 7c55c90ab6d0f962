"""Self-check without vectors: python test_selfcheck.py"""

import functools
import hashlib
import json
import struct
import tempfile
import unittest
from pathlib import Path

import ed25519_cofactored as ed
import endseal_envelope as ef
import run_vectors
from blake3 import blake3
from cryptography.cobblestone import Cobblestone256Decryptor
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from kyber_py.ml_kem import ML_KEM_768

SUITES = (ef.X25519, ef.COMPACT, ef.HYBRID)
CONTEXT = b"endseal/self-check"
CHUNK = ef.CHUNK + ef.TAG


def rnd(label, length=32):
    """Reproducible values for the tests."""
    return blake3(label.encode()).digest(length=length)


SENDER = rnd("sender")


def values(suite, label="", **changes):
    defaults = {
        "sender_seed": SENDER,
        "e": rnd("e" + label),
        "key": rnd("key" + label, 16 if suite == ef.COMPACT else 32),
        "salt": rnd("salt" + label, 24),
        "message_id": rnd("id" + label, 16),
        "time": 1_700_000_000_123,
    }
    return defaults | changes


class Person:
    def __init__(self, name):
        self.seed, self.mlkem = rnd(name), rnd(name + "/mlkem", 64)
        self.recipient = ef.Recipient(
            ef.ed25519_public(self.seed), ef.mlkem768_public(self.mlkem), rnd(name + "/m")
        )

    @classmethod
    def many(cls, count):
        return [_person(f"person {i}") for i in range(count)]


@functools.cache
def _person(name):
    return Person(name)


def seal(suite, people, content=b"hello", context=CONTEXT, **changes):
    recipients = [p.recipient for p in people]
    return ef.seal(suite, recipients, context, content, **values(suite, **changes))


def open_as(envelope, person, context=CONTEXT):
    return ef.open_envelope(envelope, person.seed, person.mlkem, context)


def flip(data, at, bits=1):
    out = bytearray(data)
    out[at] ^= bits
    return bytes(out)


class Envelope(unittest.TestCase):
    def refused(self, kind, envelope, person, context=CONTEXT):
        with self.assertRaises(ef.EnvelopeError) as caught:
            open_as(envelope, person, context)
        self.assertEqual(caught.exception.kind, kind)

    def test_every_recipient_opens_envelope_and_view(self):
        sender = ef.ed25519_public(SENDER)
        for suite in SUITES:
            expected = ef.Opened(suite, sender, rnd("id", 16), 1_700_000_000_123, b"hello")
            for count in (1, 5, 100):
                people = Person.many(count)
                envelope = seal(suite, people)
                size = 100 + (4 + ef.BODY[suite]) * count + 56 + 5 + 64 + 16
                self.assertEqual(len(envelope), size)
                self.assertEqual(envelope, seal(suite, people[::-1] + people[:1]))
                for person in people:
                    self.assertEqual(open_as(envelope, person), expected)
                    i = ef.find_slot(envelope, person.seed, person.mlkem, CONTEXT)
                    self.assertEqual(open_as(ef.view(envelope, i), person), expected)
                self.refused("authentication", envelope, Person("outsider"))
                self.refused("authentication", envelope, people[0], b"")

    def test_flips(self):
        people = Person.many(3)
        for suite in SUITES:
            envelope = seal(suite, people)
            bodies, chunks = 112, 100 + 3 * (4 + ef.BODY[suite])
            expected = {0: "header", 3: "header", 4: "version", 6: "header", 7: "header"}
            expected |= {at: "authentication" for at in (8, 38, 40, 63, 64, 95)}
            expected |= {at: "authentication" for at in range(chunks, len(envelope), 7)}
            for at, kind in expected.items():
                self.refused(kind, flip(envelope, at), people[0])
            self.refused("version", flip(envelope, 5, 0x80), people[0])
            self.refused("header", flip(envelope, 39, 0x80), people[0])  # epk >= p
            self.refused("limit", flip(envelope, 98, 0x10), people[0])  # count = 2^20 + 3
            self.refused("limit", flip(envelope, 99, 0x80), people[0])
            # A count of 3 made larger reads bodies as tags: out of order or truncated.
            self.refused("header", flip(envelope, 97, 0x10), people[0])
            for person in people:
                i = ef.find_slot(envelope, person.seed, person.mlkem, CONTEXT)
                for bit in range(8):
                    for at in range(100 + 4 * i, 104 + 4 * i):
                        with self.assertRaises((ef.HeaderError, ef.AuthenticationError)):
                            open_as(flip(envelope, at, 1 << bit), person)
                body = bodies + i * ef.BODY[suite]
                for at in range(body, body + ef.BODY[suite], 1 if suite != ef.HYBRID else 97):
                    broken = flip(envelope, at)
                    self.refused("authentication", broken, person)
                    for other in people:
                        if other is not person:
                            self.assertEqual(open_as(broken, other).content, b"hello")

    def test_header_rules(self):
        people = Person.many(2)
        envelope = seal(ef.X25519, people)
        zero = envelope[:96] + bytes(4) + envelope[100:]
        swapped = envelope[:100] + envelope[104:108] + envelope[100:104] + envelope[108:]
        low_order = envelope[:8] + bytes(32) + envelope[40:]
        p = ed.P.to_bytes(32, "little")
        self.refused("header", zero, people[0])
        self.refused("header", swapped, people[0])
        self.refused("header", envelope[:8] + p + envelope[40:], people[0])
        self.refused("authentication", low_order, people[0])
        for length in range(len(envelope)):
            kind = "header" if length < 100 + 36 * 2 else "authentication"
            self.refused(kind, envelope[:length], people[0])
        self.refused("authentication", envelope + b"\0", people[0])
        hybrid = seal(ef.HYBRID, people)
        with self.assertRaises(ef.AuthenticationError):
            ef.open_envelope(hybrid, people[0].seed, None, CONTEXT)

    def test_slots_tried(self):
        """The first 16 slots with a tag are tried, the 17th is not."""
        person = Person("person 0")
        envelope = seal(ef.X25519, [person])
        head, tag, body = envelope[:96], envelope[100:104], envelope[104:136]
        for before, kind in ((15, "ok"), (16, "authentication")):
            padded = head + struct.pack("<I", before + 2) + tag * (before + 1) + b"\xff" * 4
            padded += b"".join(rnd(f"body {i}") for i in range(before))
            padded += body + rnd("last") + envelope[136:]
            if kind == "ok":
                self.assertEqual(open_as(padded, person).content, b"hello")
            else:
                self.refused(kind, padded, person)

    def test_decoys(self):
        people = Person.many(3)
        for suite in SUITES:
            decoys = [(rnd(f"d{i}", 12), rnd(f"b{i}", ef.BODY[suite])) for i in range(5)]
            envelope = seal(suite, people, decoys=decoys)
            self.assertEqual(envelope[96:100], b"\x08\0\0\0")
            for person in people:
                self.assertEqual(open_as(envelope, person).content, b"hello")

    def test_chunk_layer_is_cobblestone_256(self):
        person, content = Person("person 0"), rnd("content", 3 * ef.CHUNK)
        for length in (0, 1, 16263, 16264, 16265, 40000):
            envelope = seal(ef.X25519, [person], content[:length])
            h = ef.header_digest(envelope, CONTEXT)
            decryptor = Cobblestone256Decryptor(rnd("key"), h)
            message = envelope[40:96] + envelope[136:]
            plaintext = decryptor.update(message) + decryptor.finalize()
            self.assertEqual(plaintext[56 : 56 + length], content[:length])
            self.assertEqual(len(plaintext), 56 + length + 64)
            self.assertEqual(open_as(envelope, person).content, content[:length])

    def test_blocks(self):
        person = Person("person 0")
        for length in (ef.BLOCK - 1, ef.BLOCK, ef.BLOCK + 1):
            content = bytes([7]) * length
            envelope = seal(ef.COMPACT, [person], content)
            self.assertEqual(open_as(envelope, person).content, content)
            chunks = 100 + 20
            self.refused("authentication", envelope[:-1], person)
            self.refused("authentication", envelope[: chunks + CHUNK], person)
            a, b = envelope[chunks : chunks + CHUNK], envelope[chunks + CHUNK : chunks + 2 * CHUNK]
            swapped = envelope[:chunks] + b + a + envelope[chunks + 2 * CHUNK :]
            self.refused("authentication", swapped, person)

    def insider(self, envelope, change):
        """Builds the envelope that a recipient with K can make: another plaintext with the same header."""
        h = ef.header_digest(envelope, CONTEXT)
        key, base, _ = ef.chunk_keys(rnd("key"), envelope[40:64], h)
        plaintext = ef.decrypt_chunks(key, base, envelope[136:])
        return envelope[:136] + ef.encrypt_chunks(key, base, change(plaintext))

    def test_insiders(self):
        person = Person("person 0")
        short = seal(ef.X25519, [person])
        size = ef.BLOCK + ef.SIGNATURE
        long = seal(ef.X25519, [person], bytes(ef.BLOCK) + b"tail")
        self.assertEqual(self.insider(short, lambda p: p), short)
        for envelope, change in (
            (short, lambda p: b""),
            (short, lambda p: p[:55]),
            (short, lambda p: p[:56]),
            (short, lambda p: p[:56] + p[-63:]),
            (short, lambda p: p[:56] + p[-64:]),
            (short, lambda p: p[:-1]),
            (short, lambda p: p + b"\0"),
            (short, lambda p: p + p[56:]),
            (short, lambda p: p[:56] + b"jello" + p[61:]),
            (short, lambda p: flip(p, 48)),
            (short, lambda p: flip(p, 32)),
            (short, lambda p: ef.ed25519_public(rnd("other")) + p[32:]),
            (short, lambda p: (1).to_bytes(32, "little") + p[32:-64] + b"\1" + bytes(63)),
            (long, lambda p: p[: 56 + size]),
            (long, lambda p: p[: 56 + size] + p[56 + 4 + ef.BLOCK : 56 + size]),
            (long, lambda p: p[:56] + p[56 + size :]),
            (long, lambda p: p[: 56 + size] + p[56:]),
        ):
            self.refused("authentication", self.insider(envelope, change), person)

    def test_signed_message_and_layout(self):
        message = ef.signed_message(bytes(32), bytes(32), bytes(56), 0, True, b"")
        self.assertEqual(len(message), 191)
        self.assertEqual(message[158], 1)
        self.assertEqual({s: 4 + b for s, b in ef.BODY.items()}, {1: 36, 2: 20, 3: 1124})

        def plaintext(content):
            return 56 + content + 64 * (content // ef.BLOCK + 1)

        # The largest content within 2^38 chunks is less than 2^52 bytes.
        self.assertGreater(plaintext(2**52), 2**52 - 1)
        limit = 2**52 - 2**36 + 2**20 - 121
        self.assertLessEqual(plaintext(limit), 2**52 - 1)
        self.assertGreater(plaintext(limit + 1), 2**52 - 1)

    def test_refused_recipients(self):
        bad = [1, ed.P - 1, 0, 1 | 1 << 255, ed.P, ed.P + 1, 2]
        for y in bad:
            self.assertIsNone(ed.recipient_u(y.to_bytes(32, "little")), y)
        with self.assertRaises(ValueError):
            recipients = [ef.Recipient(bytes(32))]
            ef.seal(ef.X25519, recipients, CONTEXT, b"", **values(ef.X25519))
        person = Person("person 0")
        ek = b"\xff\xff\xff" + person.recipient.mlkem768[3:]
        broken = ef.Recipient(person.recipient.ed25519, ek, bytes(32))
        with self.assertRaises(ValueError):
            ef.seal(ef.HYBRID, [broken], CONTEXT, b"", **values(ef.HYBRID))
        minus = ef.Recipient(flip(person.recipient.ed25519, 31, 0x80))
        recipients = [person.recipient, minus]
        envelope = ef.seal(ef.X25519, recipients, CONTEXT, b"", **values(ef.X25519))
        self.assertEqual(envelope[96], 1)

    def test_recipes(self):
        people, content = Person.many(3), bytes([9]) * 70000
        envelope = seal(ef.X25519, people, content)
        made = values(ef.X25519)
        recipe = {k: v.hex() if isinstance(v, bytes) else v for k, v in made.items()}
        recipe |= {"content_byte": 9, "content_length": 70000}
        recipe["recipients"] = [p.seed.hex() for p in people]
        recipe["envelope_blake3"] = blake3(envelope).hexdigest()
        vector = {
            "expect": "ok",
            "context": CONTEXT.hex(),
            "ed25519_seed": people[1].seed.hex(),
            "suite": "x25519",
            "sender": ef.ed25519_public(SENDER).hex(),
            "message_id": made["message_id"].hex(),
            "time": made["time"],
            "content_blake3": blake3(content).hexdigest(),
            "content_length": 70000,
        }
        chunks = 100 + 3 * 36
        swap = {"op": "swap", "a": chunks, "b": chunks + CHUNK, "length": CHUNK}
        copy = {"op": "copy", "from": chunks, "length": CHUNK, "to": chunks + CHUNK}
        remove = {"op": "remove", "at": chunks + CHUNK, "length": CHUNK}
        xor = {"op": "xor", "at": 70, "byte": 128}
        cases = (
            ("ok", []), ("ok", [swap, swap]), ("ok", [copy, remove]), ("ok", [xor, xor]),
            ("authentication", [swap]), ("authentication", [copy]),
            ("authentication", [remove]), ("authentication", [xor]),
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(run_vectors.main(directory), 1)
            for i, (expect, edits) in enumerate(cases):
                full = vector | {"expect": expect, "recipe": recipe | {"edits": edits}}
                Path(directory, f"{i}.json").write_text(json.dumps(full))
            self.assertEqual(run_vectors.main(directory), 0)
            wrong = full | {"expect": "ok"}
            Path(directory, "wrong.json").write_text(json.dumps(wrong))
            self.assertEqual(run_vectors.main(directory), 1)


class Ed25519(unittest.TestCase):
    def sign(self, label, message, r_torsion=None, a_torsion=None, add_l=False):
        """A signature by a signer who may add torsion components to R and A."""
        a = int.from_bytes(hashlib.sha512(rnd(label)).digest()[:32], "little")
        a = (a & ((1 << 254) - 8)) | 1 << 254
        r = int.from_bytes(rnd(label + "/r"), "little") % ed.L
        public, commit = ed.multiply(a, ed.BASE), ed.multiply(r, ed.BASE)
        public = ed.add(public, a_torsion) if a_torsion else public
        commit = ed.add(commit, r_torsion) if r_torsion else commit
        a_bytes, r_bytes = ed.compress(public), ed.compress(commit)
        digest = hashlib.sha512(r_bytes + a_bytes + message).digest()
        s = (r + int.from_bytes(digest, "little") * a) % ed.L + (ed.L if add_l else 0)
        return a_bytes, r_bytes + s.to_bytes(32, "little")

    def test_rfc8032_key(self):
        seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
        public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        signature = bytes.fromhex(
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
            "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        )
        self.assertEqual(ef.ed25519_public(seed), public)
        self.assertTrue(ed.verify(public, signature, b""))
        self.assertFalse(ed.verify(public, signature, b"x"))
        for at in range(64):
            self.assertFalse(ed.verify(public, flip(signature, at), b""))

    def test_torsion(self):
        # Multiplying by L leaves the torsion component of a point.
        torsion = None
        for y in range(2, 50):
            point = ed.decompress(y.to_bytes(32, "little"))
            if point:
                torsion = ed.multiply(ed.L, point)
                if not ed.is_identity(ed.double(ed.double(torsion))):
                    break
        self.assertTrue(ed.is_low_order(torsion))
        t = torsion
        for r_torsion, a_torsion in ((None, None), (t, None), (None, t), (t, t)):
            public, signature = self.sign("signer", b"m", r_torsion, a_torsion)
            self.assertTrue(ed.verify(public, signature, b"m"))
            self.assertFalse(ed.verify(public, signature, b"n"))
        public, signature = self.sign("signer", b"m", add_l=True)
        self.assertFalse(ed.verify(public, signature, b"m"))
        low = ed.IDENTITY
        for _ in range(8):  # A of low order: refused although R = S B satisfies the equation
            r = ed.compress(ed.multiply(5, ed.BASE))
            signature = r + (5).to_bytes(32, "little")
            self.assertFalse(ed.verify(ed.compress(low), signature, b"m"))
            low = ed.add(low, torsion)
        # R of low order is accepted (S = k a), R = 1 in its non-canonical encodings is not.
        a = int.from_bytes(hashlib.sha512(rnd("signer")).digest()[:32], "little")
        a = (a & ((1 << 254) - 8)) | 1 << 254
        a_bytes = ed.compress(ed.multiply(a, ed.BASE))
        for encoding, accepted in ((1, True), (ed.P - 1, True), (1 | 1 << 255, False),
                                   (ed.P + 1, False)):  # fmt: skip
            r = encoding.to_bytes(32, "little")
            k = int.from_bytes(hashlib.sha512(r + a_bytes + b"m").digest(), "little")
            signature = r + (k * a % ed.L).to_bytes(32, "little")
            self.assertEqual(ed.verify(a_bytes, signature, b"m"), accepted)

    def test_map_to_u(self):
        base = (9).to_bytes(32, "little")
        for i in range(8):
            seed = rnd(f"map {i}")
            secret = hashlib.sha512(seed).digest()[:32]
            self.assertEqual(ed.recipient_u(ef.ed25519_public(seed)), ef._x25519(secret, base))


class MlKem(unittest.TestCase):
    def test_two_implementations_agree(self):
        seed = rnd("kem", 64)
        ek, dk = ML_KEM_768.key_derive(seed)
        secret = MLKEM768PrivateKey.from_seed_bytes(seed)
        self.assertEqual(ef.mlkem768_public(seed), ek)
        self.assertEqual((len(ek), ef.MLKEM_CT), (ef.MLKEM_EK, 1088))
        shared, ct = secret.public_key().encapsulate()
        self.assertEqual(ML_KEM_768.decaps(dk, ct), shared)
        shared, ct = ML_KEM_768._encaps_internal(ek, rnd("m"))
        self.assertEqual(secret.decapsulate(ct), shared)
        broken = flip(ct, 100)
        self.assertEqual(secret.decapsulate(broken), ML_KEM_768.decaps(dk, broken))


if __name__ == "__main__":
    unittest.main()
