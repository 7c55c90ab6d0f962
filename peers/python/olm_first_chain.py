"""The receiver of the first chain of an Olm session, from Olm's specification.

https://gitlab.matrix.org/matrix-org/olm/-/blob/master/docs/olm.md; nothing here is constant time.
"""

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def hkdf(secret, info, length):
    return HKDF(SHA256(), length, salt=bytes(32), info=info).derive(secret)


def mac(key, message):
    return hmac.digest(key, message, hashlib.sha256)


def agree(secret, public):
    return X25519PrivateKey.from_private_bytes(secret).exchange(
        X25519PublicKey.from_public_bytes(public)
    )


def fields(message):
    """The fields of a protobuf message of byte strings and numbers, by their number."""
    found, at = {}, 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            length = varint()
            found[key >> 3] = message[at:at + length]
            at += length
        else:
            found[key >> 3] = varint()
    return found


def open_all(agreement_secret, one_time_secret, bodies):
    """The texts of pre-key messages of one session, in any order."""
    texts = []
    for body in bodies:
        outer = fields(body[1:])
        base, identity, message = outer[2], outer[3], outer[4]
        secret = (
            agree(one_time_secret, identity)
            + agree(agreement_secret, base)
            + agree(one_time_secret, base)
        )
        chain = hkdf(secret, b"OLM_ROOT", 64)[32:]
        inner = fields(message[1:-8])
        for _ in range(inner.get(2, 0)):
            chain = mac(chain, b"\x02")
        keys = hkdf(mac(chain, b"\x01"), b"OLM_KEYS", 80)
        if mac(keys[32:64], message[:-8])[:8] != message[-8:]:
            raise ValueError("the MAC is wrong")
        cipher = Cipher(algorithms.AES(keys[:32]), modes.CBC(keys[64:])).decryptor()
        padded = cipher.update(inner[4]) + cipher.finalize()
        texts.append(padded[:-padded[-1]])
    return texts
