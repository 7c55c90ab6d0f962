"""Disaster: the metadata are lost, or nothing is left but a copy of the bytes and the ring.

The commands are those of docs/s3.md, "Backups and replicas".
"""

import os
import shutil

import pytest

import proxy as proxies
from commands import tree, write
from content import MIB, content, equal, same
from test_aws_cli import Aws
from test_maintenance import front_with_ring, heeds
from test_multipart import PART, upload
from world import keys, refused

pytestmark = [pytest.mark.needs_proxy, pytest.mark.with_names]

CONTENTS = {
    "a.txt": content(10, 1),
    "empty": b"",
    "dir/b with space": content(20_000, 2),
    "dir/ö+%.bin": content(100_000, 3),
    # aws-cli uploads it in parts when it brings the copy back.
    "big": content(12 * MIB, 4),
}


def filled(world):
    bucket = world.bucket("recovery")
    for key, data in CONTENTS.items():
        world.s3.put_object(Bucket=bucket, Key=key, Body=data, ContentType="text/x")
    lengths = [PART, PART + 7, 1_000]
    return bucket, {**CONTENTS, "dir/parts": upload(world, bucket, "dir/parts", lengths)}


def at_the_server(world):
    """aws-cli that asks the server behind the proxy."""
    aws = Aws(world)

    def run(*arguments):
        front, world_url = (world.access, world.secret), world.url
        world.access, world.secret = world.server.access, world.server.secret
        world.url = world.server.url
        try:
            return aws(*arguments)
        finally:
            (world.access, world.secret), world.url = front, world_url

    return run


def copied(world, bucket):
    """The bytes of a bucket in a folder, as `aws s3 sync` leaves them."""
    folder = os.path.join(world.temporary(), "copy")
    at_the_server(world)("s3", "sync", f"s3://{bucket}", folder)
    return folder


def recover(world, *arguments, expect=0):
    return proxies.command(world.binary, "recover", *arguments, expect=expect)


def test_the_bucket_is_gone_and_a_copy_is_left(world):
    bucket, contents = filled(world)
    copy = copied(world, bucket)
    for key in keys(world.back, bucket):
        world.back.delete_object(Bucket=bucket, Key=key)
    # Another machine: the copy, the ring and the name secret, and nothing else.
    machine = world.temporary()
    for name in filter(None, ("ring.key", world.names and "names.secret")):
        shutil.copy(os.path.join(world.folder, name), os.path.join(machine, name))
    shutil.move(copy, os.path.join(machine, "copy"))
    opened = os.path.join(machine, "opened")
    arguments = [os.path.join(machine, "copy"), "--bucket", bucket, "--dir", opened]
    arguments += ["--ring", os.path.join(machine, "ring.key")]
    if world.names:
        arguments += ["--name-secret", os.path.join(machine, "names.secret")]
    report = recover(world, *arguments)
    equal((report["written"], report["complete"]), (len(contents), True), str(report))
    found = tree(opened)
    equal(sorted(found), sorted(contents), "files")
    for key, data in contents.items():
        same(found[key], data, key)
    equal(recover(world, *arguments)["present"], len(contents), "a second run")
    # Under another name nothing opens, and without the right ring neither.
    arguments[2], arguments[4] = "another-bucket", os.path.join(machine, "other")
    report = recover(world, *arguments, expect=1)
    equal((report["written"], report["moved"]), (0, len(contents)), str(report))


def test_a_copy_that_is_brought_back_opens_and_gets_its_headers_again(world):
    front, ring = front_with_ring(world)
    whole = world.s3
    world.s3 = world.client(front.url)
    try:
        bucket, contents = filled(world)
    finally:
        world.s3 = whole
    s3 = world.client(front.url)
    copy = copied(world, bucket)
    at_the_server(world)("s3", "rm", "--recursive", f"s3://{bucket}")
    at_the_server(world)("s3", "sync", copy, f"s3://{bucket}")
    for key, data in contents.items():
        same(s3.get_object(Bucket=bucket, Key=key)["Body"].read(), data, key)
        equal(s3.head_object(Bucket=bucket, Key=key)["ContentLength"], len(data), key)
    got = s3.get_object(Bucket=bucket, Key="big", Range="bytes=-7")["Body"].read()
    same(got, contents["big"][-7:], "a range")
    config = ["--config", front.configuration, "--bucket", bucket]
    scrubbed = proxies.command(world.binary, "scrub", *config, expect=1)
    equal(scrubbed["headers_missing"], len(contents), str(scrubbed))
    writers = [] if heeds(world, front) else ["--no-writers"]
    report = recover(world, *config, *writers)
    equal((report["restored"], report["complete"]), (len(contents), True), str(report))
    scrubbed = proxies.command(world.binary, "scrub", *config)
    equal((scrubbed["authentic"], scrubbed["headers_missing"]), (len(contents), 0), str(scrubbed))
    for key, data in contents.items():
        same(s3.get_object(Bucket=bucket, Key=key)["Body"].read(), data, key)


def test_an_upload_from_before_a_rotation_survives_it(world):
    """Begin an upload, rotate, wrap anew, complete it, remove the old key: nothing is lost."""
    front, ring = front_with_ring(world)
    s3, bucket = world.client(front.url), world.bucket("rotation")
    begun = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    data = content(PART, "rotation")
    part = {"Bucket": bucket, "Key": "k", "UploadId": begun, "PartNumber": 1}
    tag = s3.upload_part(Body=data, **part)["ETag"]
    proxies.rotate(world.binary, ring)
    late = world.another_proxy(ring=ring)
    writers = [] if heeds(world, late) else ["--no-writers"]
    config = ["--config", late.configuration, "--bucket", bucket, *writers]
    report = proxies.command(world.binary, "rewrap", *config, expect=1)
    equal((report["unfinished"], report["complete"]), (1, False), str(report))
    parts = {"Parts": [{"PartNumber": 1, "ETag": tag}]}
    s3 = world.client(late.url)
    s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=begun, MultipartUpload=parts)
    kept = open(ring).read()
    proxies.forget_old_keys(ring)
    lone = world.client(world.another_proxy(ring=ring).url)
    same(lone.get_object(Bucket=bucket, Key="k")["Body"].read(), data, "without the old key")
    with open(ring, "w") as file:
        file.write(kept)
    report = proxies.command(world.binary, "rewrap", *config)
    equal((report["rewrapped"], report["complete"]), (1, True), str(report))


def test_a_replica_opens_under_the_name_of_its_source(world):
    bucket, contents = filled(world)
    replica = world.bucket("replica")
    for key in keys(world.back, bucket):
        world.back.copy_object(Bucket=replica, Key=key, CopySource={"Bucket": bucket, "Key": key})
    key = next(iter(contents))
    with refused((403, 404, 500)):
        world.s3.get_object(Bucket=replica, Key=key)
    names = 'names = "encrypt"\nname_secret_file = "%s"\n' % world.names if world.names else ""
    rule = f'[[bucket]]\nname = "{replica}"\nsealed_as = "{bucket}"\n{names}'
    s3 = world.client(world.another_proxy(extra=rule).url)
    equal(sorted(keys(s3, replica)), sorted(contents), "keys")
    for key, data in contents.items():
        same(s3.get_object(Bucket=replica, Key=key)["Body"].read(), data, key)


def test_bytes_that_were_moved_are_named(world):
    bucket, contents = filled(world)
    if world.names:
        pytest.skip("the names of files are encrypted")
    copy = copied(world, bucket)
    os.rename(os.path.join(copy, "a.txt"), os.path.join(copy, "c.txt"))
    write(copy, "note", b"not sealed")
    opened = os.path.join(world.temporary(), "opened")
    arguments = [copy, "--bucket", bucket, "--dir", opened, "--ring", world.ring]
    report = recover(world, *arguments, expect=1)
    equal((report["written"], report["moved"], report["plaintext"]), (len(contents) - 1, 1, 1))
    equal(sorted(it["key"] for it in report["problems"]), ["c.txt", "note"], "problems")
    equal(recover(world, *arguments, "--moved", expect=1)["written"], 1, "with --moved")
    same(tree(opened)["c.txt"], contents["a.txt"], "c.txt")
