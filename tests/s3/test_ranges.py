"""boto3: ranges of whole and multipart objects."""

from content import CHUNK, MIB, content, equal, same
from test_multipart import upload
from world import refusal, refused

PART = 5 * MIB


def ranges(size, edges):
    """Range headers and what they mean: first and last byte, or None where 416 is due."""
    for at in edges:
        for begin, end in ((at - 1, at), (at, at), (at, at + 1), (at - 2, at + 2)):
            if 0 <= begin < size:
                yield f"bytes={begin}-{end}", (begin, min(end, size - 1))
    yield "bytes=0-", (0, size - 1)
    yield f"bytes={size - 1}-", (size - 1, size - 1)
    yield f"bytes=0-{size * 10}", (0, size - 1)
    yield f"bytes={size // 3}-{size // 2}", (size // 3, size // 2)
    yield "bytes=-1", (size - 1, size - 1)
    if size > 1:
        yield f"bytes=-{size // 2}", (size - size // 2, size - 1)
    yield "bytes=-0", None
    yield f"bytes=-{size}", (0, size - 1)
    yield f"bytes=-{size + 1}", (0, size - 1)
    yield f"bytes={size}-", None
    yield f"bytes={size}-{size + 5}", None
    yield f"bytes={size * 2}-", None


def check(world, bucket, key, data, edges):
    for header, expected in ranges(len(data), edges):
        if expected is None:
            with refused(416, "InvalidRange"):
                world.s3.get_object(Bucket=bucket, Key=key, Range=header)
            continue
        first, last = expected
        got = world.s3.get_object(Bucket=bucket, Key=key, Range=header)
        same(got["Body"].read(), data[first : last + 1], header)
        equal(got["ResponseMetadata"]["HTTPStatusCode"], 206, f"status of {header}")
        equal(got["ContentLength"], last + 1 - first, f"length of {header}")
        equal(got["ContentRange"], f"bytes {first}-{last}/{len(data)}", "content-range")


def test_ranges_of_a_whole_object(world):
    bucket = world.bucket("ranges")
    for size in (1, 1000, CHUNK, 5 * CHUNK, 100_000):
        data = content(size, "range")
        world.s3.put_object(Bucket=bucket, Key="k", Body=data)
        check(world, bucket, "k", data, range(0, size + 1, CHUNK))


def test_ranges_of_a_big_whole_object(world):
    bucket = world.bucket("ranges")
    data = content(12 * MIB + 345, "range")
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    check(world, bucket, "k", data, [0, CHUNK, PART, 2 * PART, 700 * CHUNK])


def test_ranges_of_a_multipart_object(world):
    bucket = world.bucket("ranges")
    lengths = [PART, PART + 5, 7 * MIB, 1000]
    data = upload(world, bucket, "k", lengths)
    edges = [0, CHUNK]
    for length in lengths:
        edges.append(edges[-1] - (edges[-1] == CHUNK) * CHUNK + length)
    check(world, bucket, "k", data, edges)


def test_ranges_of_a_short_multipart_object(world):
    bucket = world.bucket("ranges")
    data = upload(world, bucket, "k", [CHUNK + 7])
    check(world, bucket, "k", data, [0, CHUNK])


def test_no_range_of_an_empty_object_exists(world):
    bucket = world.bucket("ranges")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"")
    with refused(416, "InvalidRange"):
        world.s3.get_object(Bucket=bucket, Key="k", Range="bytes=0-0")


def test_head_of_a_range_tells_its_length(world):
    bucket = world.bucket("ranges")
    world.s3.put_object(Bucket=bucket, Key="k", Body=content(100_000))
    reply = world.wire.request("HEAD", f"/{bucket}/k", {"range": "bytes=10-99"})
    equal(reply.status, 206, "status")
    equal(reply.headers["content-length"], "90", "length")
    equal(reply.headers["content-range"], "bytes 10-99/100000", "content-range")


def test_a_range_that_is_none_gives_the_whole_object(world):
    """RFC 9110: what cannot be understood is ignored."""
    bucket = world.bucket("ranges")
    data = content(40_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    for header in ("bytes=x-", "lines=0-1", "bytes=", "bytes=-"):
        reply = world.wire.request("GET", f"/{bucket}/k", {"range": header})
        equal(reply.status, 200, f"status of {header}")
        same(reply.body, data, header)


def test_a_range_backwards_gives_all_or_nothing(world):
    bucket = world.bucket("ranges")
    data = content(40_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    reply = world.wire.request("GET", f"/{bucket}/k", {"range": "bytes=5-2"})
    if reply.status == 200:
        same(reply.body, data)
    else:
        refusal(reply, 416)


def test_several_ranges_give_all_or_nothing(world):
    """S3 has no multipart/byteranges."""
    bucket = world.bucket("ranges")
    data = content(40_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    reply = world.wire.request("GET", f"/{bucket}/k", {"range": "bytes=0-1,100-200"})
    if reply.status == 200:
        same(reply.body, data)
    else:
        refusal(reply, (400, 416, 501))


def test_ranges_obey_conditions(world):
    bucket = world.bucket("ranges")
    data = content(50_000)
    tag = world.s3.put_object(Bucket=bucket, Key="k", Body=data)["ETag"]
    got = world.s3.get_object(Bucket=bucket, Key="k", Range="bytes=100-199", IfMatch=tag)
    same(got["Body"].read(), data[100:200])
    with refused(412):
        world.s3.get_object(Bucket=bucket, Key="k", Range="bytes=100-199", IfMatch='"0"')
