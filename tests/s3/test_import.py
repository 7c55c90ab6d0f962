"""endseal s3 import: a bucket that was plaintext is sealed where it is."""

import threading

import pytest

import proxy as proxies
from content import MIB, content, equal, same
from test_maintenance import tags_of
from world import boto, keys, refused

pytestmark = [pytest.mark.needs_proxy, pytest.mark.with_names]

BESIDE = {
    "ContentType": "text/x",
    "CacheControl": "max-age=7",
    "ContentDisposition": "attachment",
    "Metadata": {"one": "1", "two": "a b"},
}


def import_(world, bucket, *options, expect=0):
    return proxies.command(
        world.binary, "import", bucket, "--config", world.proxy.configuration, *options, expect=expect
    )


def plain(world):
    """A bucket that was filled without the proxy; its contents."""
    bucket = world.bucket("import")
    contents = {
        "empty": b"",
        "a b+c": content(70_000, 1),
        "dir/ö世": content(100, 2),
        "dir/long": content(7 * MIB, 3),
    }
    for key, data in contents.items():
        world.back.put_object(Bucket=bucket, Key=key, Body=data, **BESIDE)
    begun = world.back.create_multipart_upload(Bucket=bucket, Key="parts", **BESIDE)["UploadId"]
    pieces = [content(5 * MIB, 4), content(9, 5)]
    parts = []
    for number, data in enumerate(pieces, 1):
        part = {"Bucket": bucket, "Key": "parts", "UploadId": begun, "PartNumber": number}
        parts.append(
            {"PartNumber": number, "ETag": world.back.upload_part(Body=data, **part)["ETag"]}
        )
    world.back.complete_multipart_upload(
        Bucket=bucket, Key="parts", UploadId=begun, MultipartUpload={"Parts": parts}
    )
    contents["parts"] = b"".join(pieces)
    return bucket, contents


def test_a_plaintext_bucket_is_sealed_in_place(world):
    bucket, contents = plain(world)
    tagged = {"TagSet": [{"Key": "t", "Value": "v w"}]}
    try:
        world.back.put_object_tagging(Bucket=bucket, Key="a b+c", Tagging=tagged)
    except world.back.exceptions.ClientError:
        tagged = None
    with refused((403, 404)):
        world.s3.get_object(Bucket=bucket, Key="dir/long")
    size = sum(map(len, contents.values()))
    would = import_(world, bucket, "--dry-run")
    equal((would["sealed"], would["bytes"]), (len(contents), size), "dry run")
    same(world.back.get_object(Bucket=bucket, Key="a b+c")["Body"].read(), contents["a b+c"])
    part = import_(world, bucket, "--prefix", "dir/")
    equal((part["sealed"], part["authentic"]), (2, 2), str(part))
    # It may have sealed objects that are damaged, and would be sealed once more.
    stopped = import_(world, bucket, expect=1)
    assert "sealed objects" in stopped["problems"][0]["problem"], stopped
    report = import_(world, bucket, "--resume")
    equal((report["sealed"], report["present"]), (len(contents) - 2, 2), str(report))
    equal((report["authentic"], report["complete"]), (len(contents), True), str(report))
    again = import_(world, bucket, "--resume")
    equal((again["sealed"], again["present"]), (0, len(contents)), str(again))
    equal(sorted(keys(world.s3, bucket)), sorted(contents), "keys")
    equal(len(keys(world.back, bucket)), len(contents), "objects at the server")
    for key, data in contents.items():
        got = world.s3.get_object(Bucket=bucket, Key=key)
        same(got["Body"].read(), data, key)
        for name, value in BESIDE.items():
            equal(got[name], value, f"{name} of {key}")
    for key in keys(world.back, bucket):
        stored = world.back.get_object(Bucket=bucket, Key=key)
        assert "endseal" in stored["Metadata"] and "one" not in stored["Metadata"], key
        assert contents["a b+c"][:64] not in stored["Body"].read(), key
    if tagged:
        equal(tags_of(world.s3, bucket, "a b+c"), {"t": "v w"}, "tags")


def test_who_writes_during_an_import_wins(world):
    bucket = world.bucket("race")
    if world.names:
        pytest.skip("clients find the objects after the import only")
    names = [f"{number:02}" for number in range(30)]
    for name in names:
        world.back.put_object(Bucket=bucket, Key=name, Body=content(300_000, name))
    writer = boto(world.url, world.access, world.secret)
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
        report = import_(world, bucket, "--resume", expect=None)
    finally:
        stop.set()
        thread.join()
    equal(report["failed"], 0, str(report))
    import_(world, bucket, "--resume")
    for name in names:
        data = last.get(name) or content(300_000, name)
        same(world.s3.get_object(Bucket=bucket, Key=name)["Body"].read(), data, name)


def test_objects_that_cannot_be_sealed_are_named(world):
    bucket = world.bucket("import")
    entries = {f"n{number}": "v" * 400 for number in range(4)}
    world.back.put_object(Bucket=bucket, Key="full", Body=b"x", Metadata=entries)
    world.back.put_object(Bucket=bucket, Key="k", Body=b"x")
    report = import_(world, bucket, expect=1)
    equal((report["sealed"], report["skipped"]), (1, 1), str(report))
    equal([it["key"] for it in report["problems"]][:1], ["full"], "problems")
    assert "no room" in report["problems"][0]["problem"], report
    equal(world.back.get_object(Bucket=bucket, Key="full")["Metadata"], entries, "left alone")


def test_a_renaming_that_was_interrupted_is_ended(world):
    """Killed between the write under the encrypted name and the deletion of the plain one."""
    if not world.names:
        pytest.skip("names are not encrypted")
    bucket = world.bucket("import")
    for key, old, new in (("same", b"content", b"content"), ("other", b"old", b"new")):
        world.back.put_object(Bucket=bucket, Key=key, Body=old)
        world.s3.put_object(Bucket=bucket, Key=key, Body=new)
    report = import_(world, bucket, "--resume", expect=1)
    equal((report["sealed"], report["skipped"], report["changed"]), (1, 1, 0), str(report))
    there = keys(world.back, bucket)
    assert "same" not in there and "other" in there, there
    same(world.s3.get_object(Bucket=bucket, Key="same")["Body"].read(), b"content")
    same(world.s3.get_object(Bucket=bucket, Key="other")["Body"].read(), b"new")
    assert any("encrypted name" in it["problem"] for it in report["problems"]), report
