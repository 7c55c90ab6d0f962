"""Objects that the server has altered: an error before the affected bytes are sent."""

import os

import pytest

import proxy as proxies
from content import CHUNK, HEADER_COPY, SEALED_CHUNK, content, equal, same, sealed_length
from sealed import HEADER, Sealed, flipped, must_fail, part_length, safe_before
from test_multipart import PART, upload
from world import refusal, refused

pytestmark = pytest.mark.needs_proxy

SIZE = 40_000


def sealed_object(world, size=SIZE, seed="tamper", bucket=None, key="k"):
    bucket = bucket or world.bucket("tamper")
    data = content(size, seed)
    world.s3.put_object(Bucket=bucket, Key=key, Body=data)
    one = Sealed(world, bucket, key)
    equal(len(one.body), sealed_length(size), "sealed length")
    return bucket, data, one


def test_an_unchanged_object_put_anew_still_opens(world):
    """The control of all that follows."""
    bucket, data, one = sealed_object(world)
    one.put(bucket, "k")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_every_flipped_byte_is_refused(world):
    """With --full every byte, otherwise a stride, all edges of chunks and most of the tail."""
    bucket, data, one = sealed_object(world)
    length = len(one.body)
    stride = 1 if world.full else 499 if world.quick else 97
    positions = set(range(0, length, stride))
    for chunk in range(4):
        edge = min(chunk * SEALED_CHUNK, length)
        positions |= set(range(max(0, edge - 18), min(length, edge + 18)))
    tail = length - HEADER_COPY - 180
    positions |= set(range(tail, length, 1 if world.full else 3 if not world.quick else 29))
    for at in sorted(positions):
        one.put(bucket, "k", flipped(one.body, at))
        reply = must_fail(world, bucket, "k", data, safe_before(at), f"byte {at} flipped")
        if at < SEALED_CHUNK:
            assert reply.status >= 400, f"byte {at} flipped: {reply} before the first chunk"
    one.put(bucket, "k")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_ranges_that_touch_damage_are_refused(world):
    bucket, data, one = sealed_object(world)
    for chunk in range(3):
        one.put(bucket, "k", flipped(one.body, chunk * SEALED_CHUNK + 100))
        for first, last in ((0, 0), (CHUNK, CHUNK + 9), (20_000, 39_999), (0, SIZE - 1)):
            touched = first // CHUNK <= chunk <= last // CHUNK
            header = {"range": f"bytes={first}-{last}"}
            what = f"range {first}-{last} with damage in chunk {chunk}"
            if touched:
                safe = max(0, chunk * CHUNK - first)
                must_fail(world, bucket, "k", data, safe, what, header, first)
            else:
                reply = world.wire.request("GET", f"/{bucket}/k", header)
                equal(reply.status, 206, what)
                same(reply.body, data[first : last + 1], what)


def test_chunks_dropped_doubled_or_swapped_are_refused(world):
    bucket, data, one = sealed_object(world)
    edge = [0, SEALED_CHUNK, 2 * SEALED_CHUNK]
    zero, first = one.body[: edge[1]], one.body[edge[1] : edge[2]]
    rest = one.body[edge[2] :]
    for what, body, safe in (
        ("first dropped", first + rest, 0),
        ("second dropped", zero + rest, CHUNK),
        ("first doubled", zero + zero + rest, CHUNK),
        ("first inserted", zero + zero + first + rest, CHUNK),
        ("swapped", first + zero + rest, 0),
        ("last dropped", zero + first, 2 * CHUNK),
    ):
        one.put(bucket, "k", body)
        must_fail(world, bucket, "k", data, safe, what)


def test_cut_and_extended_objects_are_refused(world):
    bucket, data, one = sealed_object(world)
    length = len(one.body)
    cuts = [0, 1, SEALED_CHUNK, 2 * SEALED_CHUNK, length - 1, length - 4, length - HEADER_COPY, length - HEADER_COPY - 172, 20_000]
    # Lengths that another plaintext would have, so that the length alone does not tell.
    cuts += [sealed_length(it) for it in (0, CHUNK - 1, CHUNK, SIZE - 1)]
    for cut in cuts:
        one.put(bucket, "k", one.body[:cut])
        must_fail(world, bucket, "k", data, safe_before(cut), f"cut to {cut}")
    for more in (b"\0", b"\0" * 16, one.body[-16:], one.body):
        one.put(bucket, "k", one.body + more)
        must_fail(world, bucket, "k", data, 2 * CHUNK, f"{len(more)} bytes longer")
    longer = sealed_length(SIZE + 1)
    one.put(bucket, "k", one.body + b"\0" * (longer - length))
    must_fail(world, bucket, "k", data, 2 * CHUNK, "as long as another")


def test_metadata_that_were_changed_do_not_matter(world):
    """The copy of the header at the end of the object is used in the place of a changed one."""
    bucket, data, one = sealed_object(world)
    header = one.metadata[HEADER]
    step = 1 if world.full else 7

    def still_right(what):
        same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data, what)

    for at in range(0, len(header), step):
        other = "A" if header[at] != "A" else "Q"
        changed = header[:at] + other + header[at + 1 :]
        one.put(bucket, "k", metadata={HEADER: changed})
        still_right(f"header changed at {at}")
    for what, value in (
        ("cut", header[:-4]),
        ("longer", header + "AAAA"),
        ("padded", header + "="),
        ("empty", ""),
        ("nonsense", "?!"),
        ("huge", "A" * 1500),
    ):
        one.put(bucket, "k", metadata={HEADER: value})
        still_right(f"header {what}")
    one.put(bucket, "k", metadata={})
    still_right("header removed")
    one.put(bucket, "k", flipped(one.body, len(one.body) - 600), metadata={})
    must_fail(world, bucket, "k", data, 0, "header removed, and its copy changed")


def test_bodies_and_headers_of_two_objects_do_not_mix(world):
    bucket, data, one = sealed_object(world)
    _, other, two = sealed_object(world, SIZE, "other", bucket, "l")
    one.put(bucket, "k", body=two.body)
    must_fail(world, bucket, "k", data, 0, "body of another object")
    one.put(bucket, "k", metadata=two.metadata)
    got = world.s3.get_object(Bucket=bucket, Key="k")["Body"].read()
    same(got, data, "header of another object")
    # An older version of one and the same object.
    _, _, old = sealed_object(world, SIZE, "old", bucket, "m")
    _, new_data, new = sealed_object(world, SIZE, "new", bucket, "m")
    old.put(bucket, "m", metadata=new.metadata)
    must_fail(world, bucket, "m", new_data, 0, "older body")
    new.put(bucket, "m", metadata=old.metadata)
    must_fail(world, bucket, "m", new_data, 0, "older header")


def test_objects_moved_behind_the_proxys_back_are_refused(world):
    bucket, data, one = sealed_object(world)
    _, other, two = sealed_object(world, SIZE, "other", bucket, "l")
    one.put(bucket, "l")
    two.put(bucket, "k")
    must_fail(world, bucket, "k", other, 0, "two objects swapped")
    must_fail(world, bucket, "l", data, 0, "two objects swapped")
    elsewhere = world.bucket("tamper")
    one.put(elsewhere, "k")
    must_fail(world, elsewhere, "k", data, 0, "in another bucket")
    world.back.copy_object(Bucket=bucket, Key="copy", CopySource=f"{bucket}/l")
    must_fail(world, bucket, "copy", data, 0, "copied by the server")


def test_plaintext_is_not_taken_for_an_object(world):
    bucket = world.bucket("tamper")
    data = content(SIZE)
    for size in (SIZE, 0, sealed_length(100)):
        world.back.put_object(Bucket=bucket, Key="k", Body=content(size), Metadata={"m": "v"})
        reply = world.wire.request("GET", f"/{bucket}/k")
        assert reply.status >= 400, f"{size} bytes of plaintext: {reply}"
        reply = world.wire.request("GET", f"/{bucket}/k", {"range": "bytes=0-9"})
        assert reply.status >= 400, f"{size} bytes of plaintext: {reply}"
    world.back.put_object(Bucket=bucket, Key="k", Body=data)
    source = {"x-amz-copy-source": f"{bucket}/k"}
    refusal(world.wire.request("PUT", f"/{bucket}/copy", source), (400, 403, 409))
    with refused(404):
        world.s3.head_object(Bucket=bucket, Key="copy")
    # It can be listed and removed: otherwise it could never be removed.
    equal(world.s3.list_objects_v2(Bucket=bucket)["KeyCount"], 1, "keys")
    world.s3.delete_object(Bucket=bucket, Key="k")


def test_the_key_ring_of_somebody_else_opens_nothing(world):
    bucket, data, _ = sealed_object(world)
    ring = os.path.join(world.temporary(), "other.key")
    proxies.new_ring(world.binary, ring)
    other = world.wire_to(world.another_proxy(ring=ring))
    reply = other.request("GET", f"/{bucket}/k")
    assert reply.status >= 400 and data[:64] not in reply.body, reply


def test_parts_that_were_moved_are_refused(world):
    bucket = world.bucket("tamper")
    lengths = [PART, PART, PART + CHUNK, 1000]
    data = upload(world, bucket, "k", lengths)
    one = Sealed(world, bucket, "k")
    equal(len(one.body), sealed_length(len(data)), "sealed length")
    edges = [0]
    for length in lengths:
        edges.append(edges[-1] + part_length(length))
    a, b, c, d = (one.body[x:y] for x, y in zip(edges, edges[1:]))
    tail = one.body[edges[-1] :]
    one.put(bucket, "k")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data, "put anew")
    for what, body, safe in (
        ("swapped", b + a + c + d + tail, 0),
        ("first dropped", b + c + d + tail, 0),
        ("second doubled", a + b + b + c + d + tail, 0),
        ("first in place of the second", a + a + c + d + tail, PART),
        ("salt of the second for the first", b[:24] + a[24:] + b + c + d + tail, 0),
        ("last dropped", a + b + c + tail, 0),
        ("tail dropped", a + b + c + d, 0),
        ("tail zeroed", a + b + c + d + bytes(len(tail)), 0),
    ):
        one.put(bucket, "k", body)
        must_fail(world, bucket, "k", data, safe, f"parts: {what}")
    # Parts of another upload of the same key, with a record of the same lengths.
    upload(world, bucket, "k", lengths, Metadata={"upload": "second"})
    two = Sealed(world, bucket, "k")
    two.put(bucket, "k", one.body[: edges[1]] + two.body[edges[1] :])
    must_fail(world, bucket, "k", data, 0, "part of another upload")
    two.put(bucket, "k", two.body[: edges[-1]] + tail)
    must_fail(world, bucket, "k", data, 0, "record of another upload")
    two.put(bucket, "k", one.body)
    must_fail(world, bucket, "k", data, 0, "all of another upload but its header")


@pytest.mark.slow
def test_flipped_bytes_of_a_multipart_object_are_refused(world):
    bucket = world.bucket("tamper")
    lengths = [PART, PART + 5, 1000]
    data = upload(world, bucket, "k", lengths)
    one = Sealed(world, bucket, "k")
    positions = set(range(0, len(one.body), len(one.body) // 40))
    edge = 0
    safe = {}
    begin = 0
    for length in lengths:
        end = edge + part_length(length)
        edges = (edge, edge + 23, edge + 24, edge + 24 + SEALED_CHUNK, end - 1)
        positions |= {at for at in edges if at < end}
        safe[edge] = begin
        edge = end
        begin += length
    positions |= {edge, edge + 10, len(one.body) - 1, len(one.body) - 5, len(one.body) - 100}
    for at in sorted(positions):
        one.put(bucket, "k", flipped(one.body, at))
        start = max((it for it in safe if it <= at))
        inside = max(0, at - start - 24)
        limit = min(safe[start] + inside // SEALED_CHUNK * CHUNK, len(data) - 1)
        must_fail(world, bucket, "k", data, limit, f"byte {at} of a multipart object flipped")
