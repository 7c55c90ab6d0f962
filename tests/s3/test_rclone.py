"""rclone: it compares hashes if the server reports them, and always sizes."""

import json
import os
import urllib.parse

import pytest

from commands import FILES, output, read, run, tree, write
from content import MIB, content, equal, same
from servers import REGION

pytestmark = pytest.mark.with_names


class Rclone:
    def __init__(self, world, part_mib=5):
        self.folder = world.temporary()
        text = (
            "[it]\ntype = s3\nprovider = Other\n"
            f"access_key_id = {world.access}\nsecret_access_key = {world.secret}\n"
            f"endpoint = {world.url}\nregion = {REGION}\nforce_path_style = true\n"
            f"chunk_size = {part_mib}Mi\nupload_cutoff = {part_mib}Mi\n"
        )
        self.config = write(self.folder, "rclone.conf", text.encode())
        self.trust = ["--ca-cert", world.authority] if world.authority else []

    def arguments(self, *arguments):
        return [
            os.environ.get("ENDSEAL_RCLONE", "rclone"),
            "--config",
            self.config,
            "--retries",
            "1",
            "--low-level-retries",
            "1",
            "--cache-dir",
            self.folder,
            *self.trust,
            *arguments,
        ]

    def __call__(self, *arguments, **options):
        return output(self.arguments(*arguments), **options)

    def transferred(self, *arguments):
        """Returns the number of files that rclone reports as transferred."""
        done = run(self.arguments(*arguments, "--use-json-log", "--stats", "0", "-v"))
        lines = [json.loads(it) for it in done.stderr.decode().split("\n") if it.startswith("{")]
        return sum(it["msg"].startswith("Copied") for it in lines)


def test_put_get_and_delete(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    for size in (0, 1, 100_000):
        data = content(size, "rclone")
        path = write(rclone.folder, "up", data)
        rclone("copyto", path, f"it:{bucket}/dir/k ö")
        rclone("copyto", f"it:{bucket}/dir/k ö", path + ".back")
        same(read(path + ".back"), data)
    listed = json.loads(rclone("lsjson", "-R", f"it:{bucket}"))
    sizes = {it["Path"]: it["Size"] for it in listed if not it["IsDir"]}
    equal(sizes, {"dir/k ö": 100_000}, "sizes")
    rclone("deletefile", f"it:{bucket}/dir/k ö")
    equal(world.s3.list_objects_v2(Bucket=bucket)["KeyCount"], 0, "objects left")


@pytest.mark.parametrize(
    "mib, megabytes",
    [(5, 23), (7, 23), pytest.param(64, 150, marks=pytest.mark.slow)],
)
def test_objects_go_both_ways_in_parts(world, mib, megabytes):
    rclone, bucket = Rclone(world, mib), world.bucket("rclone")
    data = content(megabytes * MIB + 11, mib)
    path = write(rclone.folder, "up", data)
    rclone("copyto", path, f"it:{bucket}/up")
    head = world.s3.head_object(Bucket=bucket, Key="up")
    equal(head["ContentLength"], len(data), "length")
    rclone("copyto", f"it:{bucket}/up", path + ".back")
    same(read(path + ".back"), data)
    # Its own record of the MD5 is in the metadata: this compares hashes.
    rclone("check", "--one-way", path, f"it:{bucket}")


def test_a_range(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    data = content(300_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    done = run(rclone.arguments("cat", "--offset", "16380", "--count", "70000", f"it:{bucket}/k"))
    same(done.stdout, data[16380:86380])
    done = run(rclone.arguments("cat", "--tail", "20000", f"it:{bucket}/k"), expect=None)
    if done.returncode == 0:
        same(done.stdout, data[-20000:])


def test_synchronisation_transfers_nothing_twice(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    folder = world.temporary()
    for name, size in FILES.items():
        write(folder, name, content(size, name))
    there = f"it:{bucket}/sync"
    equal(rclone.transferred("sync", folder, there), len(FILES), "first transfer")
    equal(rclone.transferred("sync", folder, there), 0, "second transfer")
    rclone("check", folder, there)
    rclone("check", "--download", folder, there)
    back = world.temporary()
    equal(rclone.transferred("sync", there, back), len(FILES), "transfer back")
    equal(sorted(tree(back)), sorted(FILES), "files")
    for name, data in tree(back).items():
        same(data, content(FILES[name], name), name)
    equal(rclone.transferred("sync", there, back), 0, "second transfer back")
    write(folder, "a.txt", b"changed in length")
    os.remove(os.path.join(folder, "empty"))
    equal(rclone.transferred("sync", folder, there), 1, "transfer of what changed")
    rclone("check", folder, there)
    rclone("purge", there)


def test_a_difference_is_found(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    folder = world.temporary()
    write(folder, "k", b"one")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"two")
    rclone("check", "--download", folder, f"it:{bucket}", expect=1)


def test_copies_and_moves_within_the_server(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    other = world.bucket("rclone")
    data = content(11 * MIB)
    path = write(rclone.folder, "k", data)
    rclone("copyto", path, f"it:{bucket}/k")
    rclone("copyto", f"it:{bucket}/k", f"it:{other}/copy ö")
    rclone("moveto", f"it:{other}/copy ö", f"it:{other}/moved")
    same(world.s3.get_object(Bucket=other, Key="moved")["Body"].read(), data)
    keys = [it["Key"] for it in world.s3.list_objects_v2(Bucket=other)["Contents"]]
    equal(keys, ["moved"], "keys")


def test_streams(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    for size in (10, 12 * MIB):
        data = content(size, "rcat")
        rclone("rcat", f"it:{bucket}/k", stdin=data)
        same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_listings(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    for number in range(5):
        world.s3.put_object(Bucket=bucket, Key=f"d/{number}", Body=content(number))
    lines = rclone("lsl", f"it:{bucket}").strip().split("\n")
    found = sorted((it.split()[-1], int(it.split()[0])) for it in lines)
    equal(found, [(f"d/{number}", number) for number in range(5)], "lsl")
    equal(rclone("lsf", f"it:{bucket}"), "d/\n", "folders")
    # In pages of two.
    found = rclone("lsf", "-R", "--files-only", "--s3-list-chunk", "2", f"it:{bucket}/d")
    equal(sorted(found.split()), [str(number) for number in range(5)], "pages")


def test_parts_are_sent_eight_at_a_time(world):
    """So that they arrive in any order."""
    rclone, bucket = Rclone(world), world.bucket("rclone")
    data = content(42 * MIB)
    path = write(rclone.folder, "up", data)
    rclone("copyto", "--s3-upload-concurrency", "8", path, f"it:{bucket}/k")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_presigned_upload(world):
    """Debian's rclone uploads what is not in parts by a presigned URL; newer ones if configured."""
    rclone, bucket = Rclone(world), world.bucket("rclone")
    data = content(40_000)
    path = write(rclone.folder, "up", data)
    # The setting of newer versions; older ones ignore it.
    told = {"RCLONE_S3_USE_PRESIGNED_REQUEST": "true"}
    arguments = rclone.arguments("copyto", "-vv", "--dump", "headers", path, f"it:{bucket}/k ö")
    done = run(arguments, environment=told)
    puts = [it for it in done.stderr.decode().split("\n") if "PUT /" in it]
    assert any("X-Amz-Signature=" in it for it in puts), puts
    same(world.s3.get_object(Bucket=bucket, Key="k ö")["Body"].read(), data)


def test_presigned_link(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    data = content(40_000)
    world.s3.put_object(Bucket=bucket, Key="k ö", Body=data)
    url = rclone("link", "--expire", "60s", f"it:{bucket}/k ö").strip()
    parts = urllib.parse.urlsplit(url)
    same(world.wire.bare("GET", f"{parts.path}?{parts.query}").body, data)


def test_modification_times_are_kept(world):
    rclone, bucket = Rclone(world), world.bucket("rclone")
    path = write(rclone.folder, "k", b"x")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    rclone("copyto", path, f"it:{bucket}/k")
    listed = json.loads(rclone("lsjson", f"it:{bucket}"))
    assert listed[0]["ModTime"].startswith("2020-09-13T12:26:40"), listed
    # A changed time alone is written by a copy onto itself with other metadata.
    os.utime(path, (1_700_000_000, 1_700_000_000))
    rclone("touch", "--timestamp", "2023-11-14T22:13:20", f"it:{bucket}/k")
    listed = json.loads(rclone("lsjson", f"it:{bucket}"))
    assert listed[0]["ModTime"].startswith("2023-11-14T22:13:20"), listed
    equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"x")
