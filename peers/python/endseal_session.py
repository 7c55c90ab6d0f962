"""Certificates, prekey bundles, messages, bindings and safety numbers of docs/spec/session.md.

Nothing here is constant time and nothing here handles a secret.
"""

from dataclasses import dataclass

from blake3 import blake3
from ed25519_cofactored import P, decompress, is_low_order, verify

CERTIFICATE_LEN = 237
BUNDLE_LEN = 343
MAX_MESSAGE_LEN = 1 << 20


class SessionError(Exception):
    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def check(condition, kind):
    if not condition:
        raise SessionError(kind)


def derive(purpose, material, length=32):
    context = f"endseal/session@v1 {purpose}"
    return blake3(material, derive_key_context=context).digest(length)


def check_ed25519(key):
    point = decompress(key)
    check(point is not None and not is_low_order(point), "key")


def check_x25519(key):
    check(int.from_bytes(key, "little") < P, "key")


def address(identity, device):
    return identity + device.to_bytes(4, "little")


@dataclass
class Certificate:
    encoding: bytes

    def __post_init__(self):
        check(len(self.encoding) == CERTIFICATE_LEN, "length")
        check(self.encoding[0] == 1, "version")
        check(self.device != 0, "device")
        check_x25519(self.agreement)
        for key in (self.identity, self.signing, self.group):
            check_ed25519(key)
        message = b"endseal/session@v1 certificate" + self.encoding[:173]
        check(verify(self.identity, self.encoding[173:], message), "authentication")

    @property
    def identity(self):
        return self.encoding[1:33]

    @property
    def device(self):
        return int.from_bytes(self.encoding[33:37], "little")

    @property
    def peer_id(self):
        return self.encoding[37:69]

    @property
    def agreement(self):
        return self.encoding[69:101]

    @property
    def signing(self):
        return self.encoding[101:133]

    @property
    def group(self):
        return self.encoding[133:165]

    @property
    def made_at(self):
        return int.from_bytes(self.encoding[165:173], "little")


def bundle(encoding):
    check(len(encoding) == BUNDLE_LEN, "length")
    check(encoding[0] == 1, "version")
    check(encoding[238] in (1, 2), "kind")
    check_x25519(encoding[239:271])
    certificate = Certificate(encoding[1:238])
    message = b"endseal/session@v1 prekey" + encoding[:279]
    check(verify(certificate.signing, encoding[279:], message), "authentication")
    return {
        "certificate": certificate.encoding.hex(),
        "prekey_kind": encoding[238],
        "prekey": encoding[239:271].hex(),
        "made_at": int.from_bytes(encoding[271:279], "little"),
    }


def message(encoding):
    check(len(encoding) <= MAX_MESSAGE_LEN, "too-long")
    check(len(encoding) >= 1, "truncated")
    check(encoding[0] == 1, "version")
    check(len(encoding) >= 2, "truncated")
    kind = encoding[1]
    check(kind in (1, 2, 3), "kind")
    parts = {1: (8, CERTIFICATE_LEN), 2: (8,), 3: ()}[kind]
    check(len(encoding) > 2 + sum(parts), "truncated")
    result = {"message_kind": kind, "body": encoding[2 + sum(parts):].hex()}
    if parts:
        result["tag"] = encoding[2:10].hex()
    if kind == 1:
        result["certificate"] = encoding[10:247].hex()
    return result


def tag(identity_key, base_key, one_time_key):
    return derive("tag", identity_key + base_key + one_time_key, 8)


def binding(certificate, to_identity, to_device, to_agreement):
    return derive("binding", certificate + address(to_identity, to_device) + to_agreement)


def first(certificate, sender, identity_key, recipient, agreement, plaintext):
    """The text of a message of kind 1 that was opened; addresses are pairs of identity and device."""
    certificate = Certificate(certificate)
    check((certificate.identity, certificate.device) == sender, "authentication")
    check(certificate.agreement == identity_key, "authentication")
    expected = binding(certificate.encoding, *recipient, agreement)
    check(plaintext[:33] == b"\x01" + expected, "authentication")
    return {"binding": expected.hex(), "text": plaintext[33:].hex()}


def later(plaintext):
    """The text of a message of kind 2 that was opened."""
    check(plaintext[:1] == b"\x00", "authentication")
    return {"text": plaintext[1:].hex()}


def safety_number(one, other):
    groups = []
    for identity in sorted((one, other)):
        check_ed25519(identity)
        print_ = derive("safety number", identity, 30)
        for at in range(0, 30, 5):
            groups.append(f"{int.from_bytes(print_[at:at + 5], 'big') % 100_000:05}")
    return {"number": " ".join(groups)}
