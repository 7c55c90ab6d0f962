"""Reads the vectors of docs/spec/s3-object.md: run_s3_object.py VECTOR_DIR"""

import sys

import blake3
import endseal_s3_object as s3
import vector_run


def pattern(start, length):
    period = bytes(i % 251 for i in range(251))
    start %= 251
    return (period * (length // 251 + 2))[start : start + length]


def content_key(vector, header):
    demanded = vector.get("demanded-binding", 2)
    wrapping = bytes.fromhex(vector["wrapping-key"])
    return header.content_key(wrapping, vector["bucket"], vector["key"], demanded)


def body(vector, key):
    """The object, or one that is sealed as the vector describes."""
    if "body" in vector:
        return bytes.fromhex(vector["body"])
    out = b""
    for part in vector["parts"]:
        salt, number = bytes.fromhex(part["salt"]), part["number"].to_bytes(2, "big")
        out += salt + seal_chunks(key, salt, number, pattern(part["start"], part["length"]))
    out += bytes.fromhex(vector["tail"])
    assert blake3.blake3(out).hexdigest() == vector["body-blake3"]
    return out


def seal_chunks(key, salt, number, plaintext):
    aead_key, base, _ = s3.derived(key, salt, b"part", number)
    aead, out = s3.AESGCM(aead_key), b""
    for index in range(len(plaintext) // s3.CHUNK + 1):
        nonce = bytes(a ^ b for a, b in zip(base, index.to_bytes(12, "big")))
        out += aead.encrypt(nonce, plaintext[index * s3.CHUNK : (index + 1) * s3.CHUNK], None)
    return out


def read_object(vector):
    header = s3.Header.of_text(vector["header"])
    key = content_key(vector, header)
    content, record = s3.open_object(header, key, vector["key"], body(vector, key))
    assert content == pattern(0, len(content)), "other content"
    found = {"plaintext-length": len(content)}
    if record is not None and record.kind:
        found |= {"checksum-kind": record.kind, "checksum": record.checksum.hex()}
        if record.parts:
            found["composite"] = record.composite
    if "metadata" in vector:
        found["user-metadata"] = s3.user_metadata(key, header, vector["metadata"])
    return found


def read_upload_id(vector):
    id = s3.UploadId(vector["upload-id"])
    key = content_key(vector, id.header)
    kind, form, backend = id.open(key, vector["bucket"], vector["key"])
    found = {"backend-upload-id": backend}
    return found | ({"checksum-kind": kind, "checksum-type": form} if kind else {})


def read_recorded_id(vector):
    id = s3.UploadId(vector["record"])
    key = content_key(vector, id.header)
    _, _, backend = id.open(key, vector["bucket"], vector["key"])
    s3.check(backend == vector["listed-id"])
    return {"record-key": f".endseal/upload/{s3.short_digest(b'parked', backend)}/id"}


def read_receipt(vector):
    header, number = s3.Header.of_text(vector["header"]), vector["number"]
    key = content_key(vector, header)
    receipt = s3.Receipt(key, number, bytes.fromhex(vector["receipt"]))
    found = {"part-salt": receipt.salt.hex(), "plaintext-length": receipt.length}
    if any(receipt.sha256):
        found["sha256"] = receipt.sha256.hex()
    if receipt.kind:
        found |= {"checksum-kind": receipt.kind, "checksum": receipt.checksum.hex()}
    backend = vector.get("backend-upload-id", "")
    folder, tag = s3.short_digest(b"parked", backend), s3.short_digest(b"tag", receipt.tag)
    lies_at = f".endseal/upload/{folder}/{number:05}-{tag}"
    return found | {
        "entity-tag": receipt.tag,
        "backend-upload-id": backend,
        "receipt-key": lies_at,
    }


def read_name(vector):
    secret = bytes.fromhex(vector["name-secret"])
    return {"key": s3.open_name(secret, vector["bucket"], vector["sealed-key"])}


def read_name_secret(vector):
    secret, digest = s3.name_secret(vector["file"])
    return {"name-secret": secret.hex(), "check": digest}


def read_parked_upload(vector):
    key, backend = s3.parked_upload(vector["metadata"])
    folder = f".endseal/parked/{s3.short_digest(b'parked', backend)}/"
    return {"upload-key": key, "backend-upload-id": backend, "folder": folder}


READERS = {
    "object": read_object,
    "upload-id": read_upload_id,
    "recorded-id": read_recorded_id,
    "receipt": read_receipt,
    "name": read_name,
    "name-secret": read_name_secret,
    "parked-upload": read_parked_upload,
}


def sizes(vector):
    for plaintext, sealed in vector["pairs"]:
        if s3.sealed_length(plaintext) != sealed or s3.plaintext_length(sealed) != plaintext:
            return f"{plaintext} and {sealed}"
    for sealed in vector["none"]:
        if s3.plaintext_length(sealed) is not None:
            return f"{sealed} is a length"
    return None


def problem(vector):
    if "kind" not in vector:
        return sizes(vector)
    try:
        found, verdict = READERS[vector["kind"]](vector), "ok"
    except s3.Refused:
        found, verdict = {}, "authentication"
    if verdict != vector["expect"]:
        return f"{verdict} instead of {vector['expect']}"
    for name, value in found.items():
        if vector[name] != value:
            return f"{name} {value} instead of {vector[name]}"
    return None


if __name__ == "__main__":
    sys.exit(vector_run.run(sys.argv[1], problem))
