"""Large uploads that the proxy sends to the server in parallel parts."""

import time

import pytest

import proxy as proxies
from content import GIB, MIB, Stream, content, equal, same, sealed_length
from delay import delayed
from test_breakdowns import eventually
from test_conditions import one_tag
from test_maintenance import front_with_ring, rewrap, tags_of
from test_memory import received, sent
from wire import quote
from world import absent, keys, refused

pytestmark = pytest.mark.needs_proxy

AT_ONCE = 4
PARTS = f"parts_at_once = {AT_ONCE}\npart_size = {5 * MIB}"
# Six parts.
LARGE = 25 * MIB + 12_345


@pytest.fixture
def s3(world):
    """A client of a proxy that sends parts of 5 MiB."""
    return world.client(world.another_proxy(backend=PARTS).url)


def uploads(world, bucket, key="k"):
    """Unfinished uploads at the server. MinIO lists them by their whole key only."""
    return world.back.list_multipart_uploads(Bucket=bucket, Prefix=key).get("Uploads", [])


def test_a_large_upload_is_as_one_request(world, s3):
    bucket = world.bucket("parallel")
    data = content(LARGE)
    put = s3.put_object(
        Bucket=bucket,
        Key="k",
        Body=data,
        ContentType="text/x",
        Metadata={"one": "1"},
        ChecksumAlgorithm="SHA256",
    )
    assert put["ETag"].endswith('-6"'), put["ETag"]
    equal(one_tag(s3, bucket, "k"), put["ETag"], "tag")
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    same(got["Body"].read(), data)
    equal(got["ContentType"], "text/x", "type")
    equal(got["Metadata"], {"one": "1"}, "metadata")
    equal(got["ChecksumSHA256"], put["ChecksumSHA256"], "checksum")
    part = s3.get_object(Bucket=bucket, Key="k", Range="bytes=5242870-5242889")
    equal(part["Body"].read(), data[5_242_870:5_242_890], "range over a border of parts")
    # Proxies without the setting read it, and it is as long as one of theirs.
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
    length = world.back.head_object(Bucket=bucket, Key="k")["ContentLength"]
    equal(length, sealed_length(LARGE), "length at the server")
    equal(uploads(world, bucket), [], "unfinished uploads")
    equal(keys(world.back, bucket), ["k"], "objects at the server")


def test_tags_and_versions_are_those_of_one_request(world, s3):
    bucket = world.bucket("parallel")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    puts = [
        s3.put_object(Bucket=bucket, Key="k", Body=content(LARGE, seed), Tagging=f"n={seed}")
        for seed in (1, 2)
    ]
    equal(len({it["VersionId"] for it in puts}), 2, "versions")
    for seed, put in enumerate(puts, 1):
        got = s3.get_object(Bucket=bucket, Key="k", VersionId=put["VersionId"])
        same(got["Body"].read(), content(LARGE, seed))
        equal(got["ETag"], put["ETag"], "tag")
    equal(tags_of(s3, bucket, "k"), {"n": "2"}, "tags")


def test_conditions_hold(world, s3):
    bucket = world.bucket("parallel")
    first, second = content(LARGE, 1), content(LARGE, 2)
    with refused((404, 412)):
        s3.put_object(Bucket=bucket, Key="k", Body=first, IfMatch='"a-0"')
    tag = s3.put_object(Bucket=bucket, Key="k", Body=first, IfNoneMatch="*")["ETag"]
    with refused(412):
        s3.put_object(Bucket=bucket, Key="k", Body=second, IfNoneMatch="*")
    with refused(412):
        s3.put_object(Bucket=bucket, Key="k", Body=second, IfMatch='"a-0"')
    same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), first)
    s3.put_object(Bucket=bucket, Key="k", Body=second, IfMatch=tag)
    with refused(412):
        s3.put_object(Bucket=bucket, Key="k", Body=first, IfMatch=tag)
    same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), second)
    equal(uploads(world, bucket), [], "unfinished uploads")


@pytest.mark.parametrize("name", ["if-none-match", "if-match"])
def test_a_condition_that_ceases_to_hold_while_the_upload_runs_refuses_it(world, name):
    front = world.another_proxy(backend=PARTS)
    http = world.wire_to(front)
    bucket = world.bucket("parallel")
    value = "*"
    if name == "if-match":
        value = world.s3.put_object(Bucket=bucket, Key="k", Body=b"first")["ETag"]
    data = content(LARGE)
    exchange = http.begin(
        "PUT", f"/{bucket}/k", {"content-length": str(LARGE), name: value}, timeout=120
    )
    exchange.send(data[:-1])
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"faster")
    exchange.send(data[-1:])
    reply = exchange.reply()
    assert reply.status in (409, 412), reply
    equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"faster")
    equal(uploads(world, bucket), [], "unfinished uploads")


def test_a_wrong_checksum_leaves_nothing(world, s3):
    bucket = world.bucket("parallel")
    with refused(400, "BadDigest"):
        s3.put_object(Bucket=bucket, Key="k", Body=content(LARGE), ChecksumCRC32="AAAAAA==")
    absent(world.back, bucket, "k")
    equal(uploads(world, bucket), [], "unfinished uploads")


def test_a_client_that_vanishes_leaves_nothing(world):
    http = world.wire_to(world.another_proxy(backend=PARTS))
    bucket = world.bucket("parallel")
    data = content(LARGE)
    for length in (0, 5 * MIB, 17 * MIB, LARGE - 1):
        exchange = http.begin("PUT", f"/{bucket}/k", {"content-length": str(LARGE)})
        exchange.send(data[:length])
        eventually(lambda: uploads(world, bucket), "the upload has not begun", 60)
        exchange.vanish()
        eventually(lambda: not uploads(world, bucket), "the upload remains", 60)
    absent(world.back, bucket, "k")


def test_a_server_that_dies_is_an_error(world):
    server = world.another_server()
    front = world.another_proxy(server=server, backend=PARTS)
    s3, http = world.client(front.url), world.wire_to(front)
    s3.create_bucket(Bucket="dies")
    exchange = http.begin("PUT", "/dies/k", {"content-length": str(LARGE)}, timeout=120)
    exchange.send(content(LARGE)[: 12 * MIB])
    server.kill()
    try:
        exchange.send(content(LARGE)[12 * MIB :])
    except OSError:
        pass  # It may answer before it has all.
    equal(exchange.reply().status, 503, "status")
    eventually(lambda: "upload_remains" in front.words(), "no word of what remains")


def test_it_is_wrapped_anew(world):
    _, ring = front_with_ring(world)
    front = world.another_proxy(ring=ring, backend=PARTS)
    s3, bucket = world.client(front.url), world.bucket("parallel")
    data = content(LARGE)
    s3.put_object(Bucket=bucket, Key="k", Body=data, ContentType="text/x")
    proxies.rotate(world.binary, ring)
    front = world.another_proxy(ring=ring, backend=PARTS)
    equal(rewrap(world, front, bucket)["rewrapped"], 1, "rewrapped")
    proxies.forget_old_keys(ring)
    front = world.another_proxy(ring=ring, backend=PARTS)
    got = world.client(front.url).get_object(Bucket=bucket, Key="k")
    same(got["Body"].read(), data)
    equal(got["ContentType"], "text/x", "type")
    # Its bytes alone, without metadata.
    world.client(front.url).put_object(Bucket=bucket, Key="k", Body=data)
    stored = world.back.get_object(Bucket=bucket, Key="k")["Body"].read()
    world.back.put_object(Bucket=bucket, Key="k", Body=stored)
    same(world.client(front.url).get_object(Bucket=bucket, Key="k")["Body"].read(), data)


@pytest.mark.slow
def test_memory_is_that_of_its_parts(world):
    front = world.another_proxy(backend=f"parts_at_once = {AT_ONCE}")
    http, bucket = world.wire_to(front), world.bucket("parallel")
    stream = Stream(GIB)
    sent(http, f"/{bucket}/k", stream, stream.length)
    # Pages of the program's file count as well; those of a debug build have 32 MB.
    peak = front.peak_memory() - front.process.memory("RssFile")
    print(f"    peak memory, {AT_ONCE} parts of 16 MiB: {peak / MIB:.1f} MiB")
    assert peak <= AT_ONCE * 16 * MIB + 24_000_000, peak
    equal(received(http, f"/{bucket}/k"), (stream.length, stream.sha256()), "length and hash")


@pytest.mark.slow
def test_over_a_link_with_a_delay_it_is_faster(world):
    server, link = delayed(world.server, 0.05)
    bucket, stream = world.bucket("parallel"), Stream(500_000_000)
    seconds = {}
    for name, backend in (("one request", ""), ("parts", f"parts_at_once = {AT_ONCE}")):
        http = world.wire_to(world.another_proxy(server=server, backend=backend))
        begin = time.monotonic()
        sent(http, f"/{bucket}/{quote(name)}", stream, stream.length)
        seconds[name] = time.monotonic() - begin
    link.close()
    factor = seconds["one request"] / seconds["parts"]
    print(f"    500 MB, 50 ms: {seconds}, {factor:.2f}")
    assert factor >= 2.5, seconds


@pytest.mark.slow
def test_an_upload_may_be_longer_than_one_request(world):
    if not world.full:
        pytest.skip("--full")
    front = world.another_proxy(backend=f"parts_at_once = {AT_ONCE}")
    http, bucket = world.wire_to(front), world.bucket("parallel")
    stream = Stream(5 * GIB + 300 * MIB)
    sent(http, f"/{bucket}/k", stream, stream.length)
    equal(received(http, f"/{bucket}/k"), (stream.length, stream.sha256()), "length and hash")
    world.s3.delete_object(Bucket=bucket, Key="k")
