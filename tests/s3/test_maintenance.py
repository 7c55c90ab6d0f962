"""endseal s3 rewrap, endseal s3 clean: what is done to buckets beside serving them."""

import threading
import time

import pytest

import proxy as proxies
from content import MIB, content, equal, same
from sealed import HEADER, Sealed
from test_multipart import begin, complete, put_part
from world import keys

pytestmark = pytest.mark.needs_proxy

UNHEEDED = "ignores If-Match on copies"


def rewrap(world, front, bucket, *options, expect=0):
    """The report. A server without conditional copies needs `--no-writers`."""
    arguments = ["rewrap", "--config", front.configuration, "--bucket", bucket, *options]
    if not heeds(world, front):
        arguments.append("--no-writers")
    return proxies.command(world.binary, *arguments, expect=expect)


def heeds(world, front):
    """True if the server compares the object that a copy would overwrite; asked once."""
    if not hasattr(world, "heeds"):
        bucket = world.bucket("heeds")
        arguments = ["rewrap", "--config", front.configuration, "--bucket", bucket]
        report = proxies.command(world.binary, *arguments, expect=None)
        problems = [it["problem"] for it in report["problems"]]
        assert all("If-Match" in it for it in problems), problems
        world.heeds = not problems
        equal(keys(world.back, bucket), [], "what the trial left")
    return world.heeds


def front_with_ring(world):
    ring = f"{world.temporary()}/ring.key"
    proxies.new_ring(world.binary, ring)
    return world.another_proxy(ring=ring), ring


def tags_of(s3, bucket, key):
    return {
        it["Key"]: it["Value"] for it in s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
    }


def test_what_is_wrapped_anew_opens_without_the_old_key(world):
    front, ring = front_with_ring(world)
    s3, bucket = world.client(front.url), world.bucket("rewrap")
    written = {"empty": b"", "a b+c": content(70_000, 1), "dir/\u00f6\u4e16": content(100, 2)}
    beside = {
        "ContentType": "text/x",
        "CacheControl": "max-age=7",
        "ContentLanguage": "de",
        "Metadata": {"one": "1", "two": "a b"},
    }
    for key, data in written.items():
        s3.put_object(Bucket=bucket, Key=key, Body=data, **beside)
    upload_id = s3.create_multipart_upload(Bucket=bucket, Key="parts", **beside)["UploadId"]
    pieces = [content(5 * MIB, 3), content(5 * MIB, 4), content(9, 5)]
    parts = [
        put_part(world, bucket, "parts", upload_id, number, data, s3)
        for number, data in enumerate(pieces, 1)
    ]
    complete(world, bucket, "parts", upload_id, parts, s3)
    written["parts"] = b"".join(pieces)
    tagged = True
    try:
        s3.put_object_tagging(
            Bucket=bucket, Key="a b+c", Tagging={"TagSet": [{"Key": "t", "Value": "v"}]}
        )
    except s3.exceptions.ClientError:
        tagged = False
    world.back.put_object(Bucket=bucket, Key="plain", Body=b"plain")
    sealed = {key: Sealed(world, bucket, key) for key in written}

    newest = proxies.rotate(world.binary, ring)
    would = rewrap(world, front, bucket, "--dry-run")
    equal((would["rewrapped"], would["plaintext"], would["key"]), (4, 1, newest), "dry run")
    for key, old in sealed.items():
        equal(Sealed(world, bucket, key).metadata[HEADER], old.metadata[HEADER], "after a dry run")
    report = rewrap(world, front, bucket)
    equal((report["rewrapped"], report["plaintext"], report["newest"]), (4, 1, 0), str(report))
    assert report["complete"], report
    for key, old in sealed.items():
        new = Sealed(world, bucket, key)
        same(new.body, old.body, f"sealed bytes of {key}")
        assert new.metadata[HEADER] != old.metadata[HEADER], key
    again = rewrap(world, front, bucket)
    equal((again["rewrapped"], again["newest"]), (0, 4), "a second run")

    proxies.forget_old_keys(ring)
    late = world.client(world.another_proxy(ring=ring).url)
    for key, data in written.items():
        got = late.get_object(Bucket=bucket, Key=key)
        same(got["Body"].read(), data, key)
        equal(got["Metadata"], beside["Metadata"], f"metadata of {key}")
        for name in ("ContentType", "CacheControl", "ContentLanguage"):
            equal(got.get(name), beside[name], f"{name} of {key}")
    got = late.get_object(Bucket=bucket, Key="parts", Range=f"bytes={10 * MIB - 5}-")
    same(got["Body"].read(), written["parts"][10 * MIB - 5 :], "a range")
    shown = {it["Key"]: it["Size"] for it in late.list_objects_v2(Bucket=bucket)["Contents"]}
    equal({key: shown[key] for key in written}, {k: len(v) for k, v in written.items()}, "sizes")
    if tagged:
        equal(tags_of(late, bucket, "a b+c"), {"t": "v"}, "tags")
    equal(world.back.get_object(Bucket=bucket, Key="plain")["Body"].read(), b"plain")


def test_who_writes_meanwhile_wins(world):
    front, ring = front_with_ring(world)
    if not heeds(world, front):
        pytest.skip(f"{world.server.name} {UNHEEDED}")
    s3, bucket = world.client(front.url), world.bucket("race")
    names = [f"{number:02}" for number in range(40)]
    for name in names:
        s3.put_object(Bucket=bucket, Key=name, Body=content(300_000, name))
    proxies.rotate(world.binary, ring)
    writer = world.client(world.another_proxy(ring=ring).url)
    last, stop = {}, threading.Event()

    def write():
        count = 0
        while not stop.is_set():
            name = names[count * 7 % len(names)]
            data = f"{name} {count}".encode() * 1_000
            writer.put_object(Bucket=bucket, Key=name, Body=data)
            last[name] = data
            count += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        report = rewrap(world, front, bucket, expect=None)
    finally:
        stop.set()
        thread.join()
    equal((report["failed"], report["skipped"]), (0, 0), str(report))
    assert last, "nothing was written meanwhile"
    equal(sum(report[it] for it in ("rewrapped", "newest", "changed")), len(names), "all seen")
    rewrap(world, front, bucket)
    proxies.forget_old_keys(ring)
    late = world.client(world.another_proxy(ring=ring).url)
    for name in names:
        expected = last.get(name) or content(300_000, name)
        same(late.get_object(Bucket=bucket, Key=name)["Body"].read(), expected, name)


def test_of_versions_the_current_one_is_wrapped_anew(world):
    front, ring = front_with_ring(world)
    s3, bucket = world.client(front.url), world.bucket("versions")
    try:
        world.back.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        )
    except world.back.exceptions.ClientError:
        pytest.skip(f"{world.server.name} has no versions")
    old = s3.put_object(Bucket=bucket, Key="k", Body=b"old")["VersionId"]
    s3.put_object(Bucket=bucket, Key="k", Body=b"new")
    proxies.rotate(world.binary, ring)
    report = rewrap(world, front, bucket)
    equal((report["rewrapped"], report["versioned_buckets"]), (1, [bucket]), str(report))
    both = world.client(world.another_proxy(ring=ring).url)
    proxies.forget_old_keys(ring)
    late = world.client(world.another_proxy(ring=ring).url)
    equal(late.get_object(Bucket=bucket, Key="k")["Body"].read(), b"new")
    equal(both.get_object(Bucket=bucket, Key="k", VersionId=old)["Body"].read(), b"old")


def left(world, bucket, key):
    """An upload of a part and of a last one, which is parked."""
    upload_id = begin(world, bucket, key)
    pieces = [content(5 * MIB, key), content(9, key)]
    parts = [
        put_part(world, bucket, key, upload_id, number, data)
        for number, data in enumerate(pieces, 1)
    ]
    return upload_id, parts, b"".join(pieces)


def parked(world, bucket):
    return [it for it in keys(world.back, bucket) if it.startswith(".endseal/parked/")]


def clean(world, bucket, *options):
    arguments = ["clean", "--config", world.proxy.configuration, "--bucket", bucket, *options]
    return proxies.command(world.binary, *arguments)


def test_idle_uploads_go_and_live_ones_stay(world):
    bucket = world.bucket("clean")
    left(world, bucket, "old")
    slow, parts, data = left(world, bucket, "slow")
    world.s3.put_object(Bucket=bucket, Key="object", Body=b"object")
    time.sleep(8)
    # Something still happens to it.
    parts[0] = put_part(world, bucket, "slow", slow, 1, data[: 5 * MIB])
    young, young_parts, young_data = left(world, bucket, "young")
    equal(len(parked(world, bucket)), 3, "parked")
    would = clean(world, bucket, "--older-than", "4s", "--dry-run")
    equal(len(parked(world, bucket)), 3, "parked after a dry run")
    equal((would["uploads_removed"], would["parts_removed"]), (1, 1), str(would))
    report = clean(world, bucket, "--older-than", "4s")
    equal((report["uploads_removed"], report["parts_removed"]), (1, 1), str(report))
    equal((report["failed"], report["unknown"]), (0, 0), str(report))
    equal(len(parked(world, bucket)), 2, "parked after the cleaning")
    uploads = world.back.list_multipart_uploads(Bucket=bucket, Prefix="old")
    equal(uploads.get("Uploads", []), [], "uploads")
    complete(world, bucket, "slow", slow, parts)
    complete(world, bucket, "young", young, young_parts)
    for key, expected in (("slow", data), ("young", young_data), ("object", b"object")):
        same(world.s3.get_object(Bucket=bucket, Key=key)["Body"].read(), expected, key)
    equal(parked(world, bucket), [], "parked in the end")


def test_parts_of_uploads_that_are_gone_go(world):
    bucket = world.bucket("clean")
    left(world, bucket, "key")
    found = world.back.list_multipart_uploads(Bucket=bucket, Prefix="key")["Uploads"]
    for upload in found:
        world.back.abort_multipart_upload(Bucket=bucket, Key="key", UploadId=upload["UploadId"])
    equal(len(parked(world, bucket)), 1, "parked")
    kept = clean(world, bucket, "--older-than", "1h")
    equal((kept["parts_removed"], kept["parts_kept"]), (0, 1), str(kept))
    time.sleep(3)
    report = clean(world, bucket, "--older-than", "1s")
    equal((report["parts_removed"], report["failed"]), (1, 0), str(report))
    equal(parked(world, bucket), [], "parked in the end")


def test_parked_versions_go_too(world):
    bucket = world.bucket("clean")
    try:
        world.back.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        )
    except world.back.exceptions.ClientError:
        pytest.skip(f"{world.server.name} has no versions")
    upload_id, parts, data = left(world, bucket, "done")
    complete(world, bucket, "done", upload_id, parts)
    left(world, bucket, "old")

    def versions():
        page = world.back.list_object_versions(Bucket=bucket, Prefix=".endseal/")
        return page.get("Versions", []) + page.get("DeleteMarkers", [])

    assert len(versions()) >= 2, versions()
    time.sleep(3)
    report = clean(world, bucket, "--older-than", "1s")
    equal(report["failed"], 0, str(report))
    equal(versions(), [], "versions in the end")
    same(world.s3.get_object(Bucket=bucket, Key="done")["Body"].read(), data, "done")
