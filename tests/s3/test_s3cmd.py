"""s3cmd: it compares MD5 and entity tags where it can."""

import os
import urllib.parse

import pytest

from commands import FILES, output, read, tree, write
from content import MIB, content, equal, same
from servers import REGION, cache
from world import refusal

pytestmark = pytest.mark.with_names


class S3cmd:
    def __init__(self, world):
        self.folder = world.temporary()
        host = world.url.removeprefix("http://")
        text = (
            "[default]\n"
            f"access_key = {world.access}\nsecret_key = {world.secret}\n"
            f"host_base = {host}\nhost_bucket = {host}\n"
            f"bucket_location = {REGION}\nuse_https = False\nsignature_v2 = False\n"
            "max_retries = 0\nprogress_meter = False\nencoding = UTF-8\n"
        )
        self.config = write(self.folder, "s3cfg", text.encode())

    def __call__(self, *arguments, **options):
        program = os.path.join(cache(), "venv", "bin", "s3cmd")
        # It reads names from the file system in the locale's encoding.
        environment = {"LC_ALL": "C.UTF-8"}
        return output(
            [program, "--config", self.config, *arguments], environment=environment, **options
        )


def test_put_get_and_delete(world):
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    for size in (0, 1, 100_000):
        data = content(size, "s3cmd")
        path = write(s3cmd.folder, "up", data)
        s3cmd("put", path, f"s3://{bucket}/dir/k ö")
        s3cmd("get", "--force", f"s3://{bucket}/dir/k ö", path + ".back")
        same(read(path + ".back"), data)
    assert " 100000 " in s3cmd("ls", f"s3://{bucket}/dir/")
    assert s3cmd("du", f"s3://{bucket}/").split()[0] == "100000"
    said = s3cmd("info", f"s3://{bucket}/dir/k ö")
    assert "File size: 100000" in said, said
    s3cmd("del", f"s3://{bucket}/dir/k ö")
    equal(world.s3.list_objects_v2(Bucket=bucket)["KeyCount"], 0, "objects left")


@pytest.mark.parametrize(
    "mib, megabytes",
    [(5, 17), (7, 17), pytest.param(64, 130, marks=pytest.mark.slow)],
)
def test_objects_go_both_ways_in_parts(world, mib, megabytes):
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    data = content(megabytes * MIB + 11, mib)
    path = write(s3cmd.folder, "up", data)
    s3cmd("put", f"--multipart-chunk-size-mb={mib}", path, f"s3://{bucket}/k")
    head = world.s3.head_object(Bucket=bucket, Key="k")
    equal(head["ContentLength"], len(data), "length")
    s3cmd("get", f"s3://{bucket}/k", path + ".back")
    same(read(path + ".back"), data)


def test_an_interrupted_download_goes_on(world):
    """--continue asks for a range from where the file ends."""
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    data = content(300_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    path = write(s3cmd.folder, "part", data[:123_456])
    s3cmd("get", "--continue", f"s3://{bucket}/k", path)
    same(read(path), data)


def test_copies_moves_and_metadata(world):
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    data = content(40_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data, Metadata={"m": "v"})
    s3cmd("cp", f"s3://{bucket}/k", f"s3://{bucket}/copy")
    s3cmd("mv", f"s3://{bucket}/copy", f"s3://{bucket}/moved")
    s3cmd("modify", "--add-header=Cache-Control: no-store", f"s3://{bucket}/moved")
    got = world.s3.get_object(Bucket=bucket, Key="moved")
    same(got["Body"].read(), data)
    equal((got["CacheControl"], got["Metadata"].get("m")), ("no-store", "v"), "metadata")
    keys = [it["Key"] for it in world.s3.list_objects_v2(Bucket=bucket)["Contents"]]
    equal(sorted(keys), ["k", "moved"], "keys")


def test_synchronisation_transfers_nothing_twice(world):
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    folder = world.temporary()
    for name, size in FILES.items():
        write(folder, name, content(size, name))
    there = f"s3://{bucket}/sync/"
    options = ("sync", "--multipart-chunk-size-mb=5", "--no-delete-removed")
    equal(s3cmd(*options, folder + "/", there).count("upload:"), len(FILES), "uploads")
    # Without MD5 sums to compare there are sizes and dates, in this direction its own records.
    equal(s3cmd(*options, folder + "/", there).count("upload:"), 0, "uploads of the second time")
    back = world.temporary()
    s3cmd(*options, there, back + "/")
    equal(sorted(tree(back)), sorted(FILES), "files")
    for name, data in tree(back).items():
        same(data, content(FILES[name], name), name)
    equal(s3cmd(*options, there, back + "/").count("download:"), 0, "and back again")
    write(folder, "a.txt", b"changed in length")
    equal(s3cmd(*options, folder + "/", there).count("upload:"), 1, "uploads of what changed")
    s3cmd("del", "--recursive", "--force", f"s3://{bucket}/")
    equal(world.s3.list_objects_v2(Bucket=bucket)["KeyCount"], 0, "objects left")


def test_streams_and_lists_of_parts(world):
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    data = content(11 * MIB, "stdin")
    s3cmd("put", "--multipart-chunk-size-mb=5", "-", f"s3://{bucket}/k", stdin=data)
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
    upload_id = world.s3.create_multipart_upload(Bucket=bucket, Key="open")["UploadId"]
    world.s3.upload_part(
        Bucket=bucket, Key="open", UploadId=upload_id, PartNumber=1, Body=content(5 * MIB)
    )
    said = s3cmd("listmp", f"s3://{bucket}/open", upload_id)
    assert str(5 * MIB) in said, said
    s3cmd("abortmp", f"s3://{bucket}/open", upload_id)
    equal(world.back.list_multipart_uploads(Bucket=bucket).get("Uploads", []), [], "uploads left")


def test_an_upload_that_was_started_elsewhere_goes_on(world):
    """It sends parts in their order; of those that are there it takes none whose tag is no MD5."""
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    data = content(12 * MIB)
    upload_id = world.s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    for number in (3, 2):
        part = data[(number - 1) * 5 * MIB : number * 5 * MIB]
        world.s3.upload_part(
            Bucket=bucket, Key="k", UploadId=upload_id, PartNumber=number, Body=part
        )
    path = write(s3cmd.folder, "up", data)
    chosen = ("--multipart-chunk-size-mb=5", f"--upload-id={upload_id}")
    s3cmd("put", *chosen, path, f"s3://{bucket}/k")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


@pytest.mark.needs_proxy
def test_urls_that_it_signs_are_refused(world):
    """It knows the second version alone, which has no place in a proxy of today."""
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    url = urllib.parse.urlsplit(s3cmd("signurl", f"s3://{bucket}/k", "+60").strip())
    refusal(world.wire.bare("GET", f"{url.path}?{url.query}"), (400, 403))


def test_a_missing_object_is_an_error(world):
    s3cmd, bucket = S3cmd(world), world.bucket("s3cmd")
    s3cmd("get", f"s3://{bucket}/nothing", os.path.join(s3cmd.folder, "x"), expect=64)
