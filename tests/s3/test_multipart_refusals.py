"""boto3: multipart uploads that must fail, and leave things as they were."""

import base64

import pytest

from content import MIB, content, equal, same
from test_multipart import PART, begin, complete, put_part
from world import absent, keys, objects, refused

pytestmark = pytest.mark.with_names

OTHER = '"0123456789abcdef0123456789abcdef"'


def listed(parts, **changes):
    return [{**it, **changes} for it in parts]


def test_a_short_part_before_another_is_refused(world):
    bucket = world.bucket("refuse")
    for lengths in ((1000, PART), (PART, 1000, 1000)):
        upload_id = begin(world, bucket, "k")
        parts = [
            put_part(world, bucket, "k", upload_id, n, content(length, n))
            for n, length in enumerate(lengths, 1)
        ]
        with refused(400, "EntityTooSmall"):
            complete(world, bucket, "k", upload_id, parts)
        absent(world.s3, bucket, "k")
        world.s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=upload_id)
    equal(keys(world.back, bucket), [], "keys that the server has")


def test_an_unknown_part_is_refused(world):
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    parts = [put_part(world, bucket, "k", upload_id, 1, content(PART))]
    with refused(400, "InvalidPart"):
        complete(world, bucket, "k", upload_id, parts + listed(parts, PartNumber=2))
    with refused(400, "InvalidPart"):
        complete(world, bucket, "k", upload_id, listed(parts, ETag=OTHER))
    absent(world.s3, bucket, "k")
    complete(world, bucket, "k", upload_id, parts)
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), content(PART))


def test_the_tag_of_a_replaced_part_is_refused(world):
    for length in (PART, 1000):
        bucket = world.bucket("refuse")
        upload_id = begin(world, bucket, "k")
        old = put_part(world, bucket, "k", upload_id, 1, content(length, "old"))
        new = put_part(world, bucket, "k", upload_id, 1, content(length, "new"))
        with refused(400, "InvalidPart"):
            complete(world, bucket, "k", upload_id, [old])
        absent(world.s3, bucket, "k")
        complete(world, bucket, "k", upload_id, [new])
        same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), content(length, "new"))


def test_parts_in_falling_order_are_refused(world):
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    parts = [put_part(world, bucket, "k", upload_id, n, content(PART, n)) for n in (1, 2)]
    with refused(400, "InvalidPartOrder"):
        world.s3.complete_multipart_upload(
            Bucket=bucket, Key="k", UploadId=upload_id, MultipartUpload={"Parts": parts[::-1]}
        )
    absent(world.s3, bucket, "k")


def test_a_completion_without_parts_is_refused(world):
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    put_part(world, bucket, "k", upload_id, 1, b"x")
    with refused(400):
        complete(world, bucket, "k", upload_id, [])
    absent(world.s3, bucket, "k")


def test_unknown_uploads_are_refused(world):
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    world.s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=upload_id)
    for unknown in (upload_id, "no-such-upload"):
        with refused(404, "NoSuchUpload"):
            put_part(world, bucket, "k", unknown, 1, b"x")
        with refused(404, "NoSuchUpload"):
            complete(world, bucket, "k", unknown, [{"PartNumber": 1, "ETag": OTHER}])
        with refused(404, "NoSuchUpload"):
            world.s3.list_parts(Bucket=bucket, Key="k", UploadId=unknown)


def test_abortion_of_unknown_uploads_is_refused(world):
    bucket = world.bucket("refuse")
    for unknown in ("no-such-upload", "A" * 300):
        with refused(404, "NoSuchUpload"):
            world.s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=unknown)


def test_the_upload_of_another_key_is_refused(world):
    bucket, other = world.bucket("refuse"), world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    for place in ((bucket, "other"), (other, "k")):
        for data in (content(PART), b"short"):
            with refused(404, "NoSuchUpload"):
                put_part(world, *place, upload_id, 1, data)
        equal(objects(world.back, place[0]), [], "keys that the server has")


def test_part_numbers_out_of_bounds_are_refused(world):
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    for number in (0, 10001):
        with refused(400):
            put_part(world, bucket, "k", upload_id, number, b"x")


def test_the_last_possible_part_may_be_short(world):
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    parts = [put_part(world, bucket, "k", upload_id, 1, content(PART))]
    parts.append(put_part(world, bucket, "k", upload_id, 10000, b"end"))
    complete(world, bucket, "k", upload_id, parts)
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), content(PART) + b"end")


@pytest.mark.needs_proxy
def test_the_last_possible_part_leaves_room_for_the_tail(world):
    """docs/spec/s3-object.md: a part 10,000 of 5 MiB or more is refused when it is uploaded."""
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    with refused(400):
        put_part(world, bucket, "k", upload_id, 10000, content(PART))


def test_wrong_hashes_of_parts_are_refused(world):
    bucket = world.bucket("refuse")
    upload_id = begin(world, bucket, "k")
    wrong = base64.b64encode(b"\0" * 16).decode()
    for data in (content(6 * MIB), content(1000)):
        with refused(400, "BadDigest", "InvalidDigest"):
            put_part(world, bucket, "k", upload_id, 1, data, ContentMD5=wrong)
        with refused(400):
            put_part(world, bucket, "k", upload_id, 1, data, ChecksumCRC32="AAAAAA==")
    found = world.s3.list_parts(Bucket=bucket, Key="k", UploadId=upload_id)
    equal(found.get("Parts", []), [], "parts")
