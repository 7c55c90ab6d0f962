"""S3 objects, from docs/spec/s3-object.md alone. Opens; what it cannot open is Refused."""

import base64
import hashlib
import hmac
import re

import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

LABEL = b"endseal/s3-object@v1 "
CHUNK = 16_384
MIN_PART = 5 << 20
MOST = 5 << 40
MAX_HEADER, COPY = 679, 689
CHECKSUMS = {0: 0, 1: 4, 2: 4, 3: 8, 4: 20, 5: 32}
# Types of a checksum that an upload may announce: 1 composite, 2 of the full object.
ANNOUNCED = {1: (1, 2), 2: (1, 2), 3: (2,), 4: (1,), 5: (1,), 6: (1,)}
OWN_METADATA = {"endseal", "endseal-m"}
CONTENT_HEADERS = {
    ":cache-control",
    ":content-disposition",
    ":content-encoding",
    ":content-language",
    ":content-type",
    ":expires",
}
TOKEN = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")


class Refused(Exception):
    """The one error of "Reading"."""


def check(condition):
    if not condition:
        raise Refused


def base64url(text, most=None):
    check(re.fullmatch(r"[A-Za-z0-9_-]*", text) and len(text) % 4 != 1)
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    check(base64.urlsafe_b64encode(data).decode().rstrip("=") == text)
    check(most is None or len(data) <= most)
    return data


class Fields:
    """Bytes that are read from their beginning."""

    def __init__(self, data):
        self.data = data

    def take(self, length):
        check(0 <= length <= len(self.data))
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def number(self, length):
        return int.from_bytes(self.take(length), "big")

    def rest(self):
        return self.take(len(self.data))

    def end(self):
        check(not self.data)


def expand(key, info, length):
    """HKDF-Expand-SHA-512 (RFC 5869)."""
    out, block, counter = b"", b"", 1
    while len(out) < length:
        block = hmac.new(key, block + info + bytes([counter]), hashlib.sha512).digest()
        out, counter = out + block, counter + 1
    return out[:length]


def derived(key, salt, kind, rest=b""):
    """Key, base nonce and commitment of "Conventions"."""
    info = b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\0" + salt + LABEL + kind + rest
    out = expand(key, info, 32 + 12 + 32)
    return out[:32], out[32:44], out[44:]


def chunks_length(plaintext):
    return plaintext + 16 * (plaintext // CHUNK + 1)


def open_chunks(key, salt, kind, rest, data):
    """Chunks of C2SP chunked-encryption: each nonce has the number of the chunk in it, and the last
    chunk, which is the only one that is not full, is marked."""
    aead_key, base, _ = derived(key, salt, kind, rest)
    aead, out, number = AESGCM(aead_key), b"", 0
    while True:
        chunk, data = data[: CHUNK + 16], data[CHUNK + 16 :]
        check(len(chunk) >= 16)
        counter = number.to_bytes(12, "big")
        nonce = bytes(a ^ b for a, b in zip(base, counter))
        try:
            plain = aead.decrypt(nonce, chunk, None)
        except InvalidTag:
            raise Refused from None
        out += plain
        if len(plain) < CHUNK:
            check(not data)
            return out
        number += 1


def open_message(key, kind, rest, data):
    return open_chunks(key, data[:24], kind, rest, data[24:]) if len(data) >= 24 else check(False)


def sealed_length(plaintext):
    """T(P) of "Sizes"."""
    slots = min(plaintext // MIN_PART + 1, 10_000)
    return chunks_length(plaintext) + 92 + 80 * slots + COPY


def plaintext_length(sealed):
    """The P with T(P) = sealed, by search: T grows."""
    low, high = 0, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if sealed_length(middle) < sealed else (low, middle)
    return low if sealed_length(low) == sealed else None


def place(binding, bucket, key):
    names = (bucket, key)[:binding]
    check(0 < len(bucket.encode()) <= 255 and 0 < len(key.encode()) <= 1_024)
    encoded = [len(name.encode()).to_bytes(2, "big") + name.encode() for name in names]
    return bytes([binding]) + b"".join(encoded)


class Header:
    def __init__(self, data):
        check(len(data) <= MAX_HEADER)
        self.data, fields = data, Fields(data)
        version, self.form, self.binding, self.flags = fields.take(4)
        self.length = fields.number(8)
        self.salt, self.commitment, self.tag = (fields.take(n) for n in (24, 32, 32))
        self.key_id = fields.take(fields.number(1))
        self.wrapped = fields.take(fields.number(2))
        fields.end()
        check(version == 1 and self.form in (1, 2) and self.binding <= 2 and self.flags <= 1)
        check(self.length <= (MOST if self.form == 1 else 0))
        check(re.fullmatch(rb"[a-z0-9._-]{1,64}", self.key_id) and 1 <= len(self.wrapped) <= 512)

    @classmethod
    def of_text(cls, text):
        return cls(base64url(text))

    @classmethod
    def of_copy(cls, end):
        """The copy of the header in the last bytes of an object."""
        check(len(end) >= COPY)
        copy = Fields(end[-COPY:])
        padded, length = copy.take(MAX_HEADER), copy.number(2)
        check(copy.rest() == b"endseal\x01" and not any(padded[length:]) and length <= MAX_HEADER)
        return cls(padded[:length])

    def is_of_same_object(self, other):
        one, two = (
            (it.form, it.length, it.salt, it.commitment) for it in (self, other)
        )
        return one == two

    def content_key(self, wrapping_key, bucket, key, demanded):
        """By the ring of the vectors: nonce, AES-256-GCM, tag."""
        check(self.key_id == b"vector" and self.binding >= demanded)
        try:
            nonce, wrapped = self.wrapped[:12], self.wrapped[12:]
            content_key = AESGCM(wrapping_key).decrypt(nonce, wrapped, LABEL + b"wrap")
        except (InvalidTag, ValueError):
            raise Refused from None
        check(len(content_key) == 32)
        kind, rest = ((b"body", self.length.to_bytes(8, "big")), (b"multipart", b""))[self.form - 1]
        check(derived(content_key, self.salt, kind, rest)[2] == self.commitment)
        there = bytes([self.flags]) + place(self.binding, bucket, key)
        check(derived(content_key, self.salt, b"place", there)[2] == self.tag)
        return content_key


def checksum(kind, field):
    check(kind in CHECKSUMS and not any(field[CHECKSUMS[kind] :]))
    return kind, field[: CHECKSUMS[kind]]


class Record:
    def __init__(self, data, form, plaintext):
        fields = Fields(data)
        version, own_form, kind = fields.take(3)
        self.kind, self.checksum = checksum(kind, fields.take(32))
        flags, parts, length = fields.number(1), fields.number(4), fields.number(8)
        check(version == 1 and own_form == form and length == plaintext and flags <= 1)
        self.composite, self.parts = flags == 1, []
        for _ in range(parts):
            number, size, salt = fields.number(2), fields.number(6), fields.take(24)
            check(1 <= number <= 10_000 and size <= MOST)
            if self.parts:
                check(self.parts[-1][0] < number and self.parts[-1][1] >= MIN_PART)
            self.parts.append((number, size, salt))
        fields.end()
        check(not self.composite or (kind and parts))
        check(parts == 0 if form == 1 else sum(size for _, size, _ in self.parts) == plaintext)
        check(parts > 0 or form == 1)


def open_object(header, key, name, data):
    """The content and the record of an object."""
    if not data:
        check(header.form == 1 and header.length == 0 and name.endswith("/"))
        return b"", None
    plaintext = plaintext_length(len(data))
    check(plaintext is not None and (header.form == 2 or header.length == plaintext))
    copy = Header.of_copy(data)
    check(copy.is_of_same_object(header))
    before = data[:-COPY]
    length = int.from_bytes(before[-4:], "big")
    sealed = before[-4 - length : -4]
    check(len(sealed) == length and length >= 24 + 48 + 16)
    slots = min(plaintext // MIN_PART + 1, 10_000)
    check(length == 24 + chunks_length(48) if header.form == 1 else length <= 24 + chunks_length(48 + 32 * slots))
    record = open_message(key, b"record", bytes([header.form]) + copy.data, sealed)
    record = Record(record, header.form, plaintext)
    if header.form == 1:
        body = chunks_length(plaintext)
        content = open_chunks(
            key, header.salt, b"body", plaintext.to_bytes(8, "big"), before[:body]
        )
    else:
        fields, content = Fields(before[: -4 - length]), b""
        for number, size, salt in record.parts:
            part = fields.take(24 + chunks_length(size))
            check(salt in (bytes(24), part[:24]))
            content += open_message(key, b"part", number.to_bytes(2, "big"), part)
        body = len(before) - 4 - length - len(fields.data)
    pad = before[body : -4 - length]
    check(not any(pad) and len(content) == plaintext)
    return content, record


def user_metadata(key, header, text):
    fields, out = Fields(open_message(key, b"metadata", header.tag, base64url(text))), {}
    while fields.data:
        name, value = (fields.take(fields.number(2)) for _ in range(2))
        try:
            name = name.decode()
        except UnicodeDecodeError:
            raise Refused from None
        check(name in CONTENT_HEADERS or (TOKEN.fullmatch(name) and name not in OWN_METADATA))
        check(all(byte == 9 or (byte >= 32 and byte != 127) for byte in value))
        check(not out or name > list(out)[-1])
        out[name] = value.decode("latin-1")
    check(sum(len(name) + len(value) for name, value in out.items()) <= 2_048)
    return out


def short_digest(what, text):
    context = (LABEL + what).decode()
    return blake3.blake3(text.encode(), derive_key_context=context).digest(16).hex()


def utf8(data, most):
    check(1 <= len(data) <= most)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused from None


class UploadId:
    def __init__(self, text):
        fields = Fields(base64url(text))
        check(fields.number(1) == 1)
        self.header = Header(fields.take(fields.number(2)))
        self.sealed = fields.rest()
        check(self.header.form == 2)

    def open(self, key, bucket, name):
        """The announced checksum as kind and type, zeros if there is none, and the backend's id."""
        context = self.header.data + place(2, bucket, name)
        fields = Fields(open_message(key, b"upload", context, self.sealed))
        kind, form = fields.take(2)
        check((kind, form) == (0, 0) or (1 <= kind <= 6 and form in ANNOUNCED[kind]))
        return kind, form, utf8(fields.rest(), 1_024)


class Receipt:
    def __init__(self, key, number, data):
        fields = Fields(open_message(key, b"receipt", number.to_bytes(2, "big"), data))
        version, self.salt, self.length = fields.number(1), fields.take(24), fields.number(8)
        self.sha256 = fields.take(32)
        self.kind, self.checksum = checksum(fields.number(1), fields.take(32))
        self.tag = utf8(fields.rest(), 1_024)
        check(version == 2 and any(self.salt) and self.length <= MOST)


def parked_upload(text):
    fields = Fields(base64url(text))
    check(len("endseal-upload") + len(text) <= 2_048)
    key = utf8(fields.take(fields.number(2)), 1_024)
    return key, utf8(fields.rest(), 1_024)


def names_key(secret, bucket):
    return expand(secret, LABEL + b"names" + bucket.encode(), 64)


def open_name(secret, bucket, sealed):
    """The client's key of an encrypted one."""
    check(len(sealed.encode()) <= 1_024)
    siv, out, at = AESSIV(names_key(secret, bucket)), [], 0
    for component in sealed.split("/"):
        if component:
            data = base64url(component)
            check(len(data) > 16)
            try:
                plain = siv.decrypt(data, [sealed[:at].encode()])
            except InvalidTag:
                raise Refused from None
            component_text = utf8(plain, 1_024)
            check("/" not in component_text)
            out.append(component_text)
        else:
            out.append("")
        at += len(component) + 1
    return "/".join(out)


def name_secret(text):
    match = re.fullmatch(
        r"endseal s3-name-secret v1\nsecret ([A-Za-z0-9+/]{43}=) ([0-9a-f]{16})\n", text
    )
    check(match)
    secret = base64.b64decode(match[1])
    check(base64.b64encode(secret).decode() == match[1])
    context = (LABEL + b"name secret check").decode()
    digest = blake3.blake3(secret, derive_key_context=context).digest(8).hex()
    check(digest == match[2])
    return secret, digest
