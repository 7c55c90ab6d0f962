"""boto3: multipart uploads that succeed."""

import concurrent.futures
import random

import pytest

from content import KIB, MIB, content, equal, same
from world import absent, keys

pytestmark = pytest.mark.with_names

PART = 5 * MIB


def begin(world, bucket, key, **options):
    return world.s3.create_multipart_upload(Bucket=bucket, Key=key, **options)["UploadId"]


def put_part(world, bucket, key, upload_id, number, data, s3=None, **options):
    answer = (s3 or world.s3).upload_part(
        Bucket=bucket, Key=key, UploadId=upload_id, PartNumber=number, Body=data, **options
    )
    return {"PartNumber": number, "ETag": answer["ETag"]}


def complete(world, bucket, key, upload_id, parts, s3=None, **options):
    return (s3 or world.s3).complete_multipart_upload(
        Bucket=bucket,
        Key=key,
        UploadId=upload_id,
        MultipartUpload={"Parts": sorted(parts, key=lambda it: it["PartNumber"])},
        **options,
    )


def upload(world, bucket, key, lengths, numbers=None, order=None, **options):
    """A whole upload; the content. `order` is that in which the parts are sent."""
    numbers = numbers or range(1, len(lengths) + 1)
    pieces = {n: content(length, f"part {n}") for n, length in zip(numbers, lengths)}
    upload_id = begin(world, bucket, key, **options)
    parts = [
        put_part(world, bucket, key, upload_id, number, pieces[number])
        for number in order or numbers
    ]
    complete(world, bucket, key, upload_id, parts)
    return b"".join(pieces[number] for number in sorted(pieces))


def check(world, bucket, key, data):
    """The object is whole, has its length everywhere, and nothing else lies in the bucket."""
    got = world.s3.get_object(Bucket=bucket, Key=key)
    same(got["Body"].read(), data, key)
    equal(got["ContentLength"], len(data), "length of GET")
    equal(world.s3.head_object(Bucket=bucket, Key=key)["ContentLength"], len(data), "HEAD")
    entries = world.s3.list_objects_v2(Bucket=bucket)["Contents"]
    equal([(it["Key"], it["Size"]) for it in entries], [(key, len(data))], "LIST")
    equal({it["ETag"] for it in entries}, {got["ETag"]}, "entity tag in LIST")
    there = keys(world.back, bucket)
    equal(
        there if not world.names else len(there), [key] if not world.names else 1, "at the server"
    )


@pytest.mark.parametrize(
    "mib, count", [(5, 6), (7, 4), pytest.param(64, 3, marks=pytest.mark.slow)]
)
def test_parts_out_of_order(world, mib, count):
    bucket = world.bucket("multipart")
    lengths = [mib * MIB] * (count - 1) + [mib * MIB // 3]
    order = list(range(1, count + 1))
    random.Random(mib).shuffle(order)
    data = upload(world, bucket, "k", lengths, order=order)
    check(world, bucket, "k", data)
    first = mib * MIB
    got = world.s3.get_object(Bucket=bucket, Key="k", Range=f"bytes={first - 9}-{first + 9}")
    same(got["Body"].read(), data[first - 9 : first + 10], "range over an edge")


def test_part_numbers_with_gaps(world):
    bucket = world.bucket("multipart")
    lengths = [PART, PART + 1, PART, 10]
    data = upload(world, bucket, "k", lengths, numbers=[2, 5, 700, 9999], order=[700, 2, 9999, 5])
    check(world, bucket, "k", data)


def test_parts_of_different_lengths(world):
    bucket = world.bucket("multipart")
    data = upload(world, bucket, "k", [6 * MIB + 17, PART, 9 * MIB + 1, PART + 16384])
    check(world, bucket, "k", data)


def test_short_last_part_of_every_kind(world):
    for last in (0, 1, 16384, PART - 1, PART):
        bucket = world.bucket("multipart")
        check(world, bucket, "k", upload(world, bucket, "k", [PART, last], order=[2, 1]))


def test_single_part_of_every_kind(world):
    for length in (0, 1, 16384, 100_000, PART, PART + 1):
        bucket = world.bucket("multipart")
        check(world, bucket, "k", upload(world, bucket, "k", [length], numbers=[3]))


def test_a_part_uploaded_again_replaces_the_first(world):
    bucket = world.bucket("multipart")
    upload_id = begin(world, bucket, "k")
    for seed in ("old", "new"):
        data = content(PART, seed)
        one = put_part(world, bucket, "k", upload_id, 1, data)
        short = content(1000, seed)
        two = put_part(world, bucket, "k", upload_id, 2, short)
    complete(world, bucket, "k", upload_id, [one, two])
    check(world, bucket, "k", data + short)


def test_a_short_part_replaced_by_a_long_one_and_back(world):
    """The proxy keeps short parts elsewhere than long ones: the newest counts."""
    for lengths in ((1000, PART + 5), (PART + 5, 1000), (1000, PART, 2000)):
        bucket = world.bucket("multipart")
        upload_id = begin(world, bucket, "k")
        one = content(PART, "one")
        parts = [put_part(world, bucket, "k", upload_id, 1, one)]
        for length in lengths:
            data = content(length, "two")
            two = put_part(world, bucket, "k", upload_id, 2, data)
        complete(world, bucket, "k", upload_id, parts + [two])
        check(world, bucket, "k", one + data)


def test_parts_left_out_of_the_list_are_left_out(world):
    bucket = world.bucket("multipart")
    upload_id = begin(world, bucket, "k")
    pieces = {n: content(PART, n) for n in (1, 2, 3)}
    parts = [put_part(world, bucket, "k", upload_id, n, pieces[n]) for n in pieces]
    put_part(world, bucket, "k", upload_id, 4, b"short and unwanted")
    complete(world, bucket, "k", upload_id, [parts[0], parts[2]])
    check(world, bucket, "k", pieces[1] + pieces[3])


def test_an_aborted_upload_leaves_nothing(world):
    bucket = world.bucket("multipart")
    upload_id = begin(world, bucket, "k")
    put_part(world, bucket, "k", upload_id, 1, content(PART))
    put_part(world, bucket, "k", upload_id, 2, b"short")
    world.s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=upload_id)
    absent(world.s3, bucket, "k")
    equal(keys(world.back, bucket), [], "keys that the server has")
    equal(world.back.list_multipart_uploads(Bucket=bucket).get("Uploads", []), [], "uploads")


def test_metadata_and_headers_of_the_beginning_come_back(world):
    bucket = world.bucket("multipart")
    data = upload(
        world, bucket, "k", [PART, 3], Metadata={"m": "v w"}, ContentType="text/x", CacheControl="c"
    )
    head = world.s3.head_object(Bucket=bucket, Key="k")
    equal((head["Metadata"], head["ContentType"]), ({"m": "v w"}, "text/x"), "metadata, type")
    equal(head["CacheControl"], "c", "header")
    check(world, bucket, "k", data)


def test_parts_in_parallel(world):
    bucket = world.bucket("multipart")
    pieces = {n: content(PART + n, n) for n in range(1, 9)}
    upload_id = begin(world, bucket, "k")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        parts = list(
            pool.map(lambda n: put_part(world, bucket, "k", upload_id, n, pieces[n]), pieces)
        )
    complete(world, bucket, "k", upload_id, parts)
    check(world, bucket, "k", b"".join(pieces.values()))


def test_two_uploads_of_one_key_do_not_mix(world):
    bucket = world.bucket("multipart")
    ids = [begin(world, bucket, "k") for _ in range(2)]
    parts = {it: [] for it in ids}
    for number, length in ((1, PART), (2, 64 * KIB)):
        for upload_id in ids:
            data = content(length, f"{ids.index(upload_id)}/{number}")
            parts[upload_id].append(put_part(world, bucket, "k", upload_id, number, data))
    for which, upload_id in enumerate(ids):
        complete(world, bucket, "k", upload_id, parts[upload_id])
        data = content(PART, f"{which}/1") + content(64 * KIB, f"{which}/2")
        same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data, "content")
    check(world, bucket, "k", data)
