"""boto3: copies of objects and of parts."""

import pytest

from content import CHUNK, MIB, content, equal, same
from test_multipart import complete, upload
from world import refused

pytestmark = pytest.mark.with_names

SIZES = (0, 1, CHUNK, 100_000, 6 * MIB)


def check(world, bucket, key, data):
    got = world.s3.get_object(Bucket=bucket, Key=key)
    same(got["Body"].read(), data, key)
    equal(got["ContentLength"], len(data), "length of the copy")
    equal(world.s3.head_object(Bucket=bucket, Key=key)["ContentLength"], len(data), "HEAD")
    shown = {it["Key"]: it["Size"] for it in world.s3.list_objects_v2(Bucket=bucket)["Contents"]}
    equal(shown[key], len(data), "size in LIST")
    return got


def test_copy_within_a_bucket(world):
    bucket = world.bucket("copy")
    for size in SIZES:
        data = content(size, "copy")
        world.s3.put_object(
            Bucket=bucket, Key="a", Body=data, ContentType="text/plain", Metadata={"m": "1"}
        )
        answer = world.s3.copy_object(
            Bucket=bucket, Key="b", CopySource={"Bucket": bucket, "Key": "a"}
        )
        got = check(world, bucket, "b", data)
        equal(answer["CopyObjectResult"]["ETag"], got["ETag"], "entity tag")
        equal(got["Metadata"], {"m": "1"}, "metadata")
        equal(got["ContentType"], "text/plain", "type")
        world.s3.delete_object(Bucket=bucket, Key="a")
        check(world, bucket, "b", data)


def test_copy_to_another_bucket(world):
    one, two = world.bucket("copy"), world.bucket("copy")
    data = content(100_000, "copy")
    world.s3.put_object(Bucket=one, Key="a", Body=data, Metadata={"m": "1"})
    world.s3.copy_object(Bucket=two, Key="dir/b", CopySource=f"{one}/a")
    equal(check(world, two, "dir/b", data)["Metadata"], {"m": "1"}, "metadata")


def test_copy_with_other_metadata(world):
    bucket = world.bucket("copy")
    data = content(100_000, "copy")
    world.s3.put_object(Bucket=bucket, Key="a", Body=data, Metadata={"old": "1"})
    world.s3.copy_object(
        Bucket=bucket,
        Key="b",
        CopySource={"Bucket": bucket, "Key": "a"},
        MetadataDirective="REPLACE",
        Metadata={"new": "2"},
        ContentType="image/png",
    )
    got = check(world, bucket, "b", data)
    equal(got["Metadata"], {"new": "2"}, "metadata")
    equal(got["ContentType"], "image/png", "type")


def test_copy_onto_itself_with_other_metadata(world):
    bucket = world.bucket("copy")
    data = content(70_000, "copy")
    world.s3.put_object(Bucket=bucket, Key="a", Body=data, Metadata={"old": "1"})
    world.s3.copy_object(
        Bucket=bucket,
        Key="a",
        CopySource={"Bucket": bucket, "Key": "a"},
        MetadataDirective="REPLACE",
        Metadata={"new": "2"},
    )
    equal(check(world, bucket, "a", data)["Metadata"], {"new": "2"}, "metadata")


def test_copy_onto_itself_without_a_change_is_refused(world):
    bucket = world.bucket("copy")
    world.s3.put_object(Bucket=bucket, Key="a", Body=b"x")
    with refused(400, "InvalidRequest"):
        world.s3.copy_object(Bucket=bucket, Key="a", CopySource=f"{bucket}/a")
    equal(world.s3.get_object(Bucket=bucket, Key="a")["Body"].read(), b"x")


def test_copy_of_a_multipart_object(world):
    bucket = world.bucket("copy")
    data = upload(world, bucket, "a", [5 * MIB, 5 * MIB + 1, 10], Metadata={"m": "1"})
    world.s3.copy_object(Bucket=bucket, Key="b", CopySource=f"{bucket}/a")
    equal(check(world, bucket, "b", data)["Metadata"], {"m": "1"}, "metadata")
    got = world.s3.get_object(Bucket=bucket, Key="b", Range=f"bytes={5 * MIB - 3}-{5 * MIB + 3}")
    same(got["Body"].read(), data[5 * MIB - 3 : 5 * MIB + 4], "range of the copy")
    # And a copy of the copy: it may look like a whole object now.
    world.s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/b")
    check(world, bucket, "c", data)


def test_copy_of_what_is_not_there(world):
    bucket = world.bucket("copy")
    with refused(404, "NoSuchKey"):
        world.s3.copy_object(Bucket=bucket, Key="b", CopySource=f"{bucket}/a")
    with refused(404, "NoSuchBucket"):
        world.s3.copy_object(Bucket=bucket, Key="b", CopySource=f"{bucket}-nothing/a")


def test_copy_of_an_older_version(world):
    bucket = world.bucket("copy")
    world.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    first = world.s3.put_object(Bucket=bucket, Key="a", Body=b"first")["VersionId"]
    world.s3.put_object(Bucket=bucket, Key="a", Body=b"second")
    source = {"Bucket": bucket, "Key": "a", "VersionId": first}
    world.s3.copy_object(Bucket=bucket, Key="b", CopySource=source)
    check(world, bucket, "b", b"first")


def part_copies(world, source_bucket, source, data, pieces):
    """Assembles an object out of ranges of a source; a piece None is the whole source."""
    bucket = world.bucket("partcopy")
    upload_id = world.s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    parts, expected = [], b""
    for number, piece in enumerate(pieces, 1):
        options = {}
        if piece is not None:
            options["CopySourceRange"] = f"bytes={piece[0]}-{piece[1]}"
        answer = world.s3.upload_part_copy(
            Bucket=bucket,
            Key="k",
            UploadId=upload_id,
            PartNumber=number,
            CopySource={"Bucket": source_bucket, "Key": source},
            **options,
        )
        parts.append({"PartNumber": number, "ETag": answer["CopyPartResult"]["ETag"]})
        expected += data if piece is None else data[piece[0] : piece[1] + 1]
    complete(world, bucket, "k", upload_id, parts)
    check(world, bucket, "k", expected)


def test_copied_parts_of_a_whole_object(world):
    bucket = world.bucket("copy")
    data = content(12 * MIB, "partcopy")
    world.s3.put_object(Bucket=bucket, Key="a", Body=data)
    pieces = [(1000, 5 * MIB + 1234), None, (CHUNK, CHUNK + 99)]
    part_copies(world, bucket, "a", data, pieces)


def test_copied_parts_of_a_multipart_object(world):
    bucket = world.bucket("copy")
    data = upload(world, bucket, "a", [5 * MIB, 6 * MIB, 77])
    part_copies(world, bucket, "a", data, [(4 * MIB, 10 * MIB), None, (5 * MIB - 1, 5 * MIB)])


def test_a_copied_part_beyond_its_source_is_refused(world):
    bucket = world.bucket("copy")
    world.s3.put_object(Bucket=bucket, Key="a", Body=b"x" * 1000)
    upload_id = world.s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    with refused((400, 416)):
        world.s3.upload_part_copy(
            Bucket=bucket,
            Key="k",
            UploadId=upload_id,
            PartNumber=1,
            CopySource=f"{bucket}/a",
            CopySourceRange="bytes=0-1000",
        )
