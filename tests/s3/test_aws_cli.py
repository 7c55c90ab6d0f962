"""aws-cli: copies, synchronisation and the plain operations."""

import json
import os
import time
import urllib.parse

import pytest

from commands import FILES, output, read, tree, write
from content import MIB, content, equal, same
from servers import REGION, cache

pytestmark = pytest.mark.with_names


class Aws:
    def __init__(self, world, part_mib=None):
        self.world = world
        self.folder = world.temporary()
        settings = f"multipart_threshold = {part_mib}MB\n  multipart_chunksize = {part_mib}MB\n"
        # It would presign by the second version for an endpoint that is not Amazon's.
        text = "[default]\ns3 =\n  addressing_style = path\n  signature_version = s3v4\n"
        text += ("  " + settings) * bool(part_mib)
        self.config = write(self.folder, "aws-config", text.encode())

    def __call__(self, *arguments, **options):
        environment = {
            "AWS_ACCESS_KEY_ID": self.world.access,
            "AWS_SECRET_ACCESS_KEY": self.world.secret,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": self.config,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
        }
        if self.world.authority:
            environment["AWS_CA_BUNDLE"] = self.world.authority
        program = os.path.join(cache(), "venv", "bin", "aws")
        arguments = [program, "--endpoint-url", self.world.url, *arguments]
        return output(arguments, environment=environment, **options)

    def api(self, *arguments, **options):
        text = self("s3api", *arguments, "--output", "json", **options)
        return json.loads(text) if text.strip() else {}


def files(world):
    """Files that are not of this second: dates in listings may be in whole ones."""
    folder = world.temporary()
    for name, size in FILES.items():
        path = write(folder, name, content(size, name))
        os.utime(path, (time.time() - 10, time.time() - 10))
    return folder


def test_put_get_and_remove(world):
    aws, bucket = Aws(world), world.bucket("aws")
    for size in (0, 1, 100_000):
        data = content(size, "aws")
        path = write(aws.folder, "up", data)
        aws("s3", "cp", path, f"s3://{bucket}/dir/k ö")
        aws("s3", "cp", f"s3://{bucket}/dir/k ö", path + ".back")
        same(read(path + ".back"), data)
    lines = aws("s3", "ls", f"s3://{bucket}/dir/").split("\n")
    assert lines[0].endswith(" 100000 k ö"), lines
    aws("s3", "rm", f"s3://{bucket}/dir/k ö")
    equal(world.s3.list_objects_v2(Bucket=bucket)["KeyCount"], 0, "objects left")


@pytest.mark.parametrize(
    "mib, megabytes",
    [(5, 23), (7, 23), pytest.param(64, 150, marks=pytest.mark.slow)],
)
def test_objects_go_both_ways_in_parts(world, mib, megabytes):
    aws, bucket = Aws(world, mib), world.bucket("aws")
    data = content(megabytes * MIB + 11, mib)
    path = write(aws.folder, "up", data)
    aws("s3", "cp", path, f"s3://{bucket}/k", "--metadata", "m=v")
    head = world.s3.head_object(Bucket=bucket, Key="k")
    equal((head["ContentLength"], head["Metadata"]), (len(data), {"m": "v"}), "head")
    # Behind a last part of 5 MiB and more the proxy's tail is a part of its own at the server.
    tail = world.proxy is not None and len(data) % (mib * MIB) >= 5 * MIB
    parts = -(-len(data) // (mib * MIB)) + tail
    assert head["ETag"].endswith(f'-{parts}"'), head["ETag"]
    aws("s3", "cp", f"s3://{bucket}/k", path + ".back")
    same(read(path + ".back"), data)


def test_streams(world):
    aws, bucket = Aws(world, 5), world.bucket("aws")
    data = content(11 * MIB, "stdin")
    aws("s3", "cp", "-", f"s3://{bucket}/k", stdin=data)
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
    aws("s3", "cp", f"s3://{bucket}/k", os.path.join(aws.folder, "back"))
    same(read(os.path.join(aws.folder, "back")), data)


def test_a_range(world):
    aws, bucket = Aws(world), world.bucket("aws")
    data = content(100_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    path = os.path.join(aws.folder, "range")
    answer = aws.api(
        "get-object", "--bucket", bucket, "--key", "k", "--range", "bytes=16000-50000", path
    )
    equal(answer["ContentRange"], "bytes 16000-50000/100000", "content-range")
    same(read(path), data[16000:50001])


def test_copies_and_moves(world):
    aws, bucket = Aws(world, 5), world.bucket("aws")
    other = world.bucket("aws")
    # The second is copied in parts.
    for size in (1000, 11 * MIB):
        data = content(size, "copy")
        world.s3.put_object(Bucket=bucket, Key="k", Body=data, Metadata={"m": "v"})
        aws("s3", "cp", f"s3://{bucket}/k", f"s3://{other}/copy")
        got = world.s3.get_object(Bucket=other, Key="copy")
        same(got["Body"].read(), data, "copy")
        if size < 5 * MIB:
            # In parts it copies what the caller names, and nothing by default.
            equal(got["Metadata"], {"m": "v"}, "metadata")
        aws("s3", "mv", f"s3://{other}/copy", f"s3://{bucket}/moved")
        same(world.s3.get_object(Bucket=bucket, Key="moved")["Body"].read(), data, "moved")
        equal(world.s3.list_objects_v2(Bucket=other)["KeyCount"], 0, "objects left")


def test_synchronisation_transfers_nothing_twice(world):
    aws, bucket = Aws(world, 5), world.bucket("aws")
    folder = files(world)
    first = aws("s3", "sync", folder, f"s3://{bucket}/sync", "--no-progress")
    equal(first.count("upload:"), len(FILES), "uploads")
    equal(aws("s3", "sync", folder, f"s3://{bucket}/sync", "--no-progress"), "", "second time")
    back = world.temporary()
    aws("s3", "sync", f"s3://{bucket}/sync", back, "--no-progress")
    equal(sorted(tree(back)), sorted(FILES), "files")
    for name, data in tree(back).items():
        same(data, content(FILES[name], name), name)
    equal(aws("s3", "sync", f"s3://{bucket}/sync", back, "--no-progress"), "", "and back again")
    write(folder, "a.txt", b"changed")
    os.remove(os.path.join(folder, "empty"))
    changed = aws("s3", "sync", folder, f"s3://{bucket}/sync", "--delete", "--no-progress")
    equal((changed.count("upload:"), changed.count("delete:")), (1, 1), "changes")
    aws("s3", "rm", f"s3://{bucket}/", "--recursive")
    equal(world.s3.list_objects_v2(Bucket=bucket)["KeyCount"], 0, "objects left")


def test_presigned_url(world):
    aws, bucket = Aws(world), world.bucket("aws")
    data = content(40_000)
    world.s3.put_object(Bucket=bucket, Key="k ö", Body=data)
    url = aws("s3", "presign", f"s3://{bucket}/k ö", "--expires-in", "60").strip()
    parts = urllib.parse.urlsplit(url)
    same(world.wire.bare("GET", f"{parts.path}?{parts.query}").body, data)


def test_listings(world):
    aws, bucket = Aws(world), world.bucket("aws")
    for number in range(5):
        world.s3.put_object(Bucket=bucket, Key=f"d/{number}", Body=content(number))
    for command in ("list-objects-v2", "list-objects"):
        found = aws.api(command, "--bucket", bucket, "--prefix", "d/", "--page-size", "2")
        shown = [(it["Key"], it["Size"]) for it in found["Contents"]]
        equal(shown, [(f"d/{number}", number) for number in range(5)], command)
    text = aws("s3", "ls", f"s3://{bucket}", "--recursive", "--summarize")
    assert "Total Size: 10" in text and "Total Objects: 5" in text, text


@pytest.mark.parametrize(
    "mib", [5, pytest.param(7, marks=pytest.mark.slow), pytest.param(64, marks=pytest.mark.slow)]
)
def test_parts_out_of_order(world, mib):
    aws, bucket = Aws(world), world.bucket("aws")
    place = ("--bucket", bucket, "--key", "k")
    upload_id = aws.api("create-multipart-upload", *place)["UploadId"]
    pieces = {1: content(mib * MIB, 1), 2: content(mib * MIB, 2), 4: content(4, 4)}
    parts = []
    for number in (4, 2, 1):
        path = write(aws.folder, "part", pieces[number])
        part = ("--part-number", str(number), "--body", path)
        answer = aws.api("upload-part", *place, "--upload-id", upload_id, *part)
        parts.insert(0, {"PartNumber": number, "ETag": answer["ETag"]})
    found = aws.api("list-parts", *place, "--upload-id", upload_id)["Parts"]
    sizes = [(it["PartNumber"], it["Size"]) for it in found]
    equal(sizes, [(number, len(pieces[number])) for number in pieces])
    path = write(aws.folder, "parts", json.dumps({"Parts": parts}).encode())
    named = ("--upload-id", upload_id, "--multipart-upload", f"file://{path}")
    aws.api("complete-multipart-upload", *place, *named)
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"".join(pieces.values()))


def test_checksums_are_compared(world):
    aws, bucket = Aws(world), world.bucket("aws")
    data = content(70_000)
    path = write(aws.folder, "up", data)
    for kind in ("CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME"):
        aws("s3", "cp", path, f"s3://{bucket}/k", "--checksum-algorithm", kind)
        aws("s3", "cp", f"s3://{bucket}/k", path + ".back", "--checksum-mode", "ENABLED")
        same(read(path + ".back"), data, kind)


def test_a_missing_object_is_an_error(world):
    aws, bucket = Aws(world), world.bucket("aws")
    aws("s3", "cp", f"s3://{bucket}/nothing", os.path.join(aws.folder, "x"), expect=1)
    assert not os.path.exists(os.path.join(aws.folder, "x"))
