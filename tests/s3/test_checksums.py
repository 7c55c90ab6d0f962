"""Checksums in headers and trailers, right and wrong, and the four forms of chunked uploads."""

import base64
import hashlib
import zlib

import awscrt.checksums
import pytest

import chunked
import wire
from content import CHUNK, MIB, content, equal, same
from test_multipart import PART, begin, check, complete, put_part
from world import absent, refusal, refused


def _bytes(value, length):
    return value.to_bytes(length, "big")


DIGESTS = {
    "CRC32": lambda data: _bytes(zlib.crc32(data), 4),
    "CRC32C": lambda data: _bytes(awscrt.checksums.crc32c(data), 4),
    "CRC64NVME": lambda data: _bytes(awscrt.checksums.crc64nvme(data), 8),
    "SHA1": lambda data: hashlib.sha1(data).digest(),
    "SHA256": lambda data: hashlib.sha256(data).digest(),
}
SIZES = (0, 10, CHUNK, 200_000)


def base(data):
    return base64.b64encode(data).decode()


def of(kind, data):
    return base(DIGESTS[kind](data))


def wrong(kind):
    return of(kind, b"something else")


def header(kind):
    return f"x-amz-checksum-{kind.lower()}"


every_kind = pytest.mark.parametrize("kind", DIGESTS)


@every_kind
def test_a_checksum_in_a_header_comes_back(world, kind):
    bucket = world.bucket("sums")
    for size in SIZES:
        data = content(size, kind)
        put = world.s3.put_object(Bucket=bucket, Key="k", Body=data, ChecksumAlgorithm=kind)
        equal(put[f"Checksum{kind}"], of(kind, data), "checksum of PUT")
        head = world.s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
        equal(head[f"Checksum{kind}"], of(kind, data), "checksum of HEAD")
        # boto3 compares while it reads.
        got = world.s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
        same(got["Body"].read(), data)
        equal(got[f"Checksum{kind}"], of(kind, data), "checksum of GET")


@every_kind
def test_a_wrong_checksum_in_a_header_is_refused(world, kind):
    bucket = world.bucket("sums")
    for size in SIZES:
        reply = world.wire.request(
            "PUT", f"/{bucket}/k{size}", {header(kind): wrong(kind)}, content(size)
        )
        refusal(reply, 400, "BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch")
        absent(world.s3, bucket, f"k{size}")


@every_kind
def test_a_checksum_in_a_trailer(world, kind):
    bucket = world.bucket("sums")
    for form in (wire.UNSIGNED_TRAILER, wire.SIGNED_CHUNKS_TRAILER):
        for size in SIZES:
            data = content(size, kind)
            trailer = (header(kind), of(kind, data))
            reply = chunked.put(world.wire, f"/{bucket}/k", data, form, trailer=trailer)
            equal(reply.status, 200, f"status of {form} {size} ({reply})")
            got = world.s3.get_object(Bucket=bucket, Key="k")
            same(got["Body"].read(), data, form)


@every_kind
def test_a_wrong_checksum_in_a_trailer_is_refused(world, kind):
    bucket = world.bucket("sums")
    for form in (wire.UNSIGNED_TRAILER, wire.SIGNED_CHUNKS_TRAILER):
        for size in SIZES:
            key = f"{form}-{size}"
            trailer = (header(kind), wrong(kind))
            reply = chunked.put(
                world.wire, f"/{bucket}/{key}", content(size), form, trailer=trailer
            )
            refusal(reply, 400)
            absent(world.s3, bucket, key)


def test_signed_chunks_of_every_size(world):
    bucket = world.bucket("chunks")
    for length, size in ((0, 8192), (1, 8192), (100_000, 8192), (100_000, 65536), (3 * MIB, MIB)):
        data = content(length, size)
        reply = chunked.put(world.wire, f"/{bucket}/k", data, wire.SIGNED_CHUNKS, size)
        equal(reply.status, 200, f"status of {length} in {size} ({reply})")
        same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_the_encoding_of_the_upload_is_none_of_the_content(world):
    bucket = world.bucket("chunks")
    trailer = (header("CRC32"), of("CRC32", b"x" * 10))
    reply = chunked.put(
        world.wire, f"/{bucket}/k", b"x" * 10, wire.UNSIGNED_TRAILER, trailer=trailer
    )
    equal(reply.status, 200, f"status ({reply})")
    head = world.s3.head_object(Bucket=bucket, Key="k")
    assert "aws-chunked" not in head.get("ContentEncoding", ""), head["ContentEncoding"]


def test_chunked_uploads_keep_their_content_encoding(world):
    bucket = world.bucket("chunks")
    reply = chunked.put(
        world.wire,
        f"/{bucket}/k",
        b"x" * 10,
        wire.SIGNED_CHUNKS,
        extra={"content-encoding": "aws-chunked,gzip"},
    )
    equal(reply.status, 200, f"status ({reply})")
    equal(world.s3.head_object(Bucket=bucket, Key="k")["ContentEncoding"], "gzip", "encoding")


def test_an_altered_chunk_is_refused(world):
    bucket = world.bucket("chunks")

    def alter(which):
        return lambda number, chunk: b"?" + chunk[1:] if number == which and chunk else chunk

    trailer = (header("CRC32"), of("CRC32", content(50_000)))
    for form, more in ((wire.SIGNED_CHUNKS, None), (wire.SIGNED_CHUNKS_TRAILER, trailer)):
        for which in (0, 3, 6):
            key = f"{form}-{which}"
            reply = chunked.put(
                world.wire,
                f"/{bucket}/{key}",
                content(50_000),
                form,
                trailer=more,
                tamper=alter(which),
            )
            refusal(reply, (400, 403))
            absent(world.s3, bucket, key)


def test_a_wrong_decoded_length_is_refused(world):
    bucket = world.bucket("chunks")
    statuses = (400, 403) if world.proxy else (400, 403, 500)
    for decoded in (49_999, 50_001, 0):
        key = f"k{decoded}"
        reply = chunked.put(
            world.wire, f"/{bucket}/{key}", content(50_000), wire.SIGNED_CHUNKS, decoded=decoded
        )
        refusal(reply, statuses)
        absent(world.s3, bucket, key)


def test_content_md5_is_checked(world):
    bucket = world.bucket("md5")
    for size in SIZES:
        data = content(size)
        digest = hashlib.md5(data).digest()
        reply = world.wire.request("PUT", f"/{bucket}/k", {"content-md5": base(digest)}, data)
        equal(reply.status, 200, f"status ({reply})")
        same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
        reply = world.wire.request("PUT", f"/{bucket}/x", {"content-md5": base(bytes(16))}, data)
        refusal(reply, 400, "BadDigest", "InvalidDigest")
        absent(world.s3, bucket, "x")


def test_content_md5_that_is_none_is_refused(world):
    bucket = world.bucket("md5")
    for text in ("AAAA", "no base64 at all!"):
        reply = world.wire.request("PUT", f"/{bucket}/x", {"content-md5": text}, b"data")
        refusal(reply, 400)
    absent(world.s3, bucket, "x")


def test_the_signed_hash_of_the_payload_is_checked(world):
    bucket = world.bucket("sha")
    for size in (10, CHUNK, 3 * MIB):
        other = hashlib.sha256(b"something else").hexdigest()
        reply = world.wire.request("PUT", f"/{bucket}/x", body=content(size), payload=other)
        refusal(
            reply, (400, 403), "XAmzContentSHA256Mismatch", "SignatureDoesNotMatch", "BadDigest"
        )
        absent(world.s3, bucket, "x")


def test_unsigned_payloads_are_taken(world):
    bucket = world.bucket("sha")
    data = content(100_000)
    reply = world.wire.request("PUT", f"/{bucket}/k", body=data, payload=wire.UNSIGNED)
    equal(reply.status, 200, f"status ({reply})")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_checksums_of_parts_make_a_composite(world):
    for kind in ("CRC32", "CRC32C", "SHA1", "SHA256"):
        bucket = world.bucket("sums")
        pieces = [content(PART, kind), content(1000, kind)]
        upload_id = begin(world, bucket, "k", ChecksumAlgorithm=kind)
        parts = []
        for number, data in enumerate(pieces, 1):
            part = put_part(world, bucket, "k", upload_id, number, data, ChecksumAlgorithm=kind)
            parts.append({**part, f"Checksum{kind}": of(kind, data)})
        done = complete(world, bucket, "k", upload_id, parts)
        digest = of(kind, b"".join(DIGESTS[kind](it) for it in pieces))
        equal(done[f"Checksum{kind}"], f"{digest}-2", "composite checksum")
        check(world, bucket, "k", b"".join(pieces))


def test_a_checksum_of_the_full_object(world):
    for kind in ("CRC32", "CRC32C", "CRC64NVME"):
        bucket = world.bucket("sums")
        pieces = [content(PART, kind), content(1000, kind)]
        whole = of(kind, b"".join(pieces))
        upload_id = begin(world, bucket, "k", ChecksumAlgorithm=kind, ChecksumType="FULL_OBJECT")
        parts = [
            {
                **put_part(world, bucket, "k", upload_id, n, data, ChecksumAlgorithm=kind),
                f"Checksum{kind}": of(kind, data),
            }
            for n, data in enumerate(pieces, 1)
        ]
        done = complete(
            world,
            bucket,
            "k",
            upload_id,
            parts,
            ChecksumType="FULL_OBJECT",
            **{f"Checksum{kind}": whole},
        )
        equal(done[f"Checksum{kind}"], whole, "checksum of the object")
        got = world.s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
        same(got["Body"].read(), b"".join(pieces))
        equal(got[f"Checksum{kind}"], whole, "checksum of GET")


def begun(world, kind, checksum_type=None):
    """An upload of two parts whose creation alone names the checksum: which it is, pieces, parts, answer."""
    bucket, pieces = world.bucket("sums"), [content(PART, kind), content(1000, kind)]
    named = {"ChecksumType": checksum_type} if checksum_type else {}
    which = {"Bucket": bucket, "Key": "k"}
    answer = world.s3.create_multipart_upload(**which, ChecksumAlgorithm=kind, **named)
    which["UploadId"] = answer["UploadId"]
    parts = []
    for number, data in enumerate(pieces, 1):
        part = put_part(
            world, bucket, "k", which["UploadId"], number, data, ChecksumAlgorithm=kind
        )
        parts.append({**part, f"Checksum{kind}": of(kind, data)})
    return which, pieces, parts, answer


# Algorithms with the types that S3 has for them; the first is the default.
TYPES = {
    "CRC32": ("COMPOSITE", "FULL_OBJECT"),
    "CRC32C": ("COMPOSITE", "FULL_OBJECT"),
    "CRC64NVME": ("FULL_OBJECT",),
    "SHA1": ("COMPOSITE",),
    "SHA256": ("COMPOSITE",),
}


def checksum_of(kind, checksum_type, pieces):
    if checksum_type == "FULL_OBJECT":
        return of(kind, b"".join(pieces))
    return f"{of(kind, b''.join(DIGESTS[kind](it) for it in pieces))}-{len(pieces)}"


@every_kind
def test_the_checksum_of_the_creation_holds(world, kind):
    """Neither the list of parts nor the completion names it again."""
    for checksum_type in (None, *TYPES[kind]):
        which, pieces, parts, answer = begun(world, kind, checksum_type)
        expected = checksum_type or TYPES[kind][0]
        announced = (answer["ChecksumAlgorithm"], answer["ChecksumType"])
        equal(announced, (kind, expected), "creation")
        page = world.s3.list_parts(**which)
        announced = (page["ChecksumAlgorithm"], page["ChecksumType"])
        equal(announced, (kind, expected), "list of parts")
        listed = [it[f"Checksum{kind}"] for it in page["Parts"]]
        equal(listed, [it[f"Checksum{kind}"] for it in parts], "parts")
        whole = checksum_of(kind, expected, pieces)
        done = world.s3.complete_multipart_upload(
            **which, MultipartUpload={"Parts": parts}, **{f"Checksum{kind}": whole}
        )
        equal((done[f"Checksum{kind}"], done["ChecksumType"]), (whole, expected), "completion")
        head = world.s3.head_object(Bucket=which["Bucket"], Key="k", ChecksumMode="ENABLED")
        equal(head[f"Checksum{kind}"], whole, "checksum of HEAD")
        check(world, which["Bucket"], "k", b"".join(pieces))


def test_a_checksum_of_the_full_object_that_is_wrong_is_refused(world):
    which, pieces, parts, _ = begun(world, "CRC32", "FULL_OBJECT")
    # That of the parts' checksums is not that of the object.
    composite = of("CRC32", b"".join(DIGESTS["CRC32"](it) for it in pieces))
    for wrong_one in (wrong("CRC32"), composite):
        with refused(400, "BadDigest"):
            world.s3.complete_multipart_upload(
                **which, MultipartUpload={"Parts": parts}, ChecksumCRC32=wrong_one
            )
    absent(world.s3, which["Bucket"], "k")


def test_a_checksum_type_that_the_algorithm_does_not_have_is_refused(world):
    bucket = world.bucket("sums")
    for kind, types in TYPES.items():
        for checksum_type in {"COMPOSITE", "FULL_OBJECT"} - set(types):
            with refused(400, "InvalidRequest"):
                begin(world, bucket, "k", ChecksumAlgorithm=kind, ChecksumType=checksum_type)
    head = {"x-amz-checksum-type": "FULL_OBJECT"}
    refusal(world.wire.request("POST", f"/{bucket}/k?uploads", head), 400, "InvalidRequest")


@pytest.mark.needs_proxy
def test_a_completion_does_not_contradict_its_creation(world):
    """What servers answer to this differs."""
    which, pieces, parts, _ = begun(world, "CRC32", "FULL_OBJECT")
    other = [{**it, "ChecksumSHA256": of("SHA256", data)} for it, data in zip(parts, pieces)]
    for part in other:
        del part["ChecksumCRC32"]
    for listed, options in (
        (parts, {"ChecksumType": "COMPOSITE"}),
        (parts, {"ChecksumCRC32C": of("CRC32C", b"".join(pieces))}),
        (other, {}),
    ):
        with refused(400, "InvalidRequest"):
            world.s3.complete_multipart_upload(
                **which, MultipartUpload={"Parts": listed}, **options
            )
    absent(world.s3, which["Bucket"], "k")
    done = world.s3.complete_multipart_upload(
        **which, MultipartUpload={"Parts": parts}, ChecksumType="FULL_OBJECT"
    )
    equal(done["ChecksumCRC32"], of("CRC32", b"".join(pieces)), "checksum")


def test_a_wrong_checksum_of_a_part_in_the_list_is_refused(world):
    bucket = world.bucket("sums")
    upload_id = begin(world, bucket, "k", ChecksumAlgorithm="SHA256")
    part = put_part(world, bucket, "k", upload_id, 1, content(1000), ChecksumAlgorithm="SHA256")
    with refused(400):
        complete(world, bucket, "k", upload_id, [{**part, "ChecksumSHA256": wrong("SHA256")}])
    absent(world.s3, bucket, "k")
