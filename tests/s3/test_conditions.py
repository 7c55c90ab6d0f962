"""boto3: conditional requests, with the entity tags that the endpoint itself gave."""

import datetime
import time

import pytest

from content import MIB, content, equal, same
from test_multipart import upload
from world import refused

OTHER = '"0123456789abcdef0123456789abcdef"'


def check_reads(world, bucket, data, tag):
    s3 = world.s3
    for method in (s3.get_object, s3.head_object):
        for condition in (
            {"IfMatch": tag},
            {"IfMatch": tag.strip('"')},
            {"IfMatch": "*"},
            {"IfNoneMatch": OTHER},
        ):
            answer = method(Bucket=bucket, Key="k", **condition)
            equal(answer["ContentLength"], len(data), f"length for {condition}")
            if "Body" in answer:
                same(answer["Body"].read(), data)
        with refused(412):
            method(Bucket=bucket, Key="k", IfMatch=OTHER)
        for known in (tag, tag.strip('"'), "*"):
            with refused(304):
                method(Bucket=bucket, Key="k", IfNoneMatch=known)


def test_tags_decide_reads_of_a_whole_object(world):
    bucket = world.bucket("conditions")
    data = content(30_000)
    tag = world.s3.put_object(Bucket=bucket, Key="k", Body=data)["ETag"]
    check_reads(world, bucket, data, tag)


def test_tags_decide_reads_of_a_multipart_object(world):
    bucket = world.bucket("conditions")
    data = upload(world, bucket, "k", [5 * MIB, 100])
    check_reads(world, bucket, data, world.s3.head_object(Bucket=bucket, Key="k")["ETag"])


def test_dates_decide_reads(world):
    bucket = world.bucket("conditions")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    # S3 compares whole seconds, and ignores If-Modified-Since of a time to come.
    time.sleep(1.1)
    present = datetime.datetime.now(datetime.timezone.utc)
    for method in (world.s3.get_object, world.s3.head_object):
        method(Bucket=bucket, Key="k", IfModifiedSince=past)
        method(Bucket=bucket, Key="k", IfUnmodifiedSince=present)
        with refused(304):
            method(Bucket=bucket, Key="k", IfModifiedSince=present)
        with refused(412):
            method(Bucket=bucket, Key="k", IfUnmodifiedSince=past)


def test_creation_only_if_there_is_nothing(world):
    bucket = world.bucket("conditions")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"first", IfNoneMatch="*")
    with refused((409, 412)):
        world.s3.put_object(Bucket=bucket, Key="k", Body=b"second", IfNoneMatch="*")
    equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"first")


def test_replacement_only_of_what_is_known(world):
    bucket = world.bucket("conditions")
    tag = world.s3.put_object(Bucket=bucket, Key="k", Body=b"first")["ETag"]
    with refused(412):
        world.s3.put_object(Bucket=bucket, Key="k", Body=b"wrong", IfMatch=OTHER)
    equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"first")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"second", IfMatch=tag)
    with refused(412):
        world.s3.put_object(Bucket=bucket, Key="k", Body=b"third", IfMatch=tag)
    equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"second")


def test_completion_only_if_there_is_nothing(world):
    bucket = world.bucket("conditions")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"first")
    upload_id = world.s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    tag = world.s3.upload_part(
        Bucket=bucket, Key="k", UploadId=upload_id, PartNumber=1, Body=b"second"
    )["ETag"]
    with refused((409, 412)):
        world.s3.complete_multipart_upload(
            Bucket=bucket,
            Key="k",
            UploadId=upload_id,
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]},
            IfNoneMatch="*",
        )
    equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"first")


def test_copies_only_of_what_is_known(world):
    bucket = world.bucket("conditions")
    source = {"Bucket": bucket, "Key": "k"}
    tag = world.s3.put_object(Bucket=bucket, Key="k", Body=b"first")["ETag"]
    world.s3.copy_object(Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch=tag)
    world.s3.copy_object(Bucket=bucket, Key="c", CopySource=source, CopySourceIfNoneMatch=OTHER)
    with refused(412):
        world.s3.copy_object(Bucket=bucket, Key="d", CopySource=source, CopySourceIfMatch=OTHER)
    equal(world.s3.get_object(Bucket=bucket, Key="c")["Body"].read(), b"first")


def test_no_copies_of_what_is_known(world):
    bucket = world.bucket("conditions")
    source = {"Bucket": bucket, "Key": "k"}
    tag = world.s3.put_object(Bucket=bucket, Key="k", Body=b"first")["ETag"]
    with refused(412):
        world.s3.copy_object(Bucket=bucket, Key="d", CopySource=source, CopySourceIfNoneMatch=tag)


OPEN = '[[bucket]]\nname = "*"\nplaintext = "allow"'
READABLE = '[[bucket]]\nname = "*"\nplaintext = "read-only"'


def one_tag(s3, bucket, key):
    """The tag of an object, if every answer has the same."""
    tag = s3.head_object(Bucket=bucket, Key=key)["ETag"]
    found = {
        "GET": s3.get_object(Bucket=bucket, Key=key)["ETag"],
        "GET of a range": s3.get_object(Bucket=bucket, Key=key, Range="bytes=-3")["ETag"],
        "HEAD of a range": s3.head_object(Bucket=bucket, Key=key, Range="bytes=1-3")["ETag"],
        "list": s3.list_objects(Bucket=bucket, Prefix=key)["Contents"][0]["ETag"],
        "list, v2": s3.list_objects_v2(Bucket=bucket, Prefix=key)["Contents"][0]["ETag"],
        "versions": s3.list_object_versions(Bucket=bucket, Prefix=key)["Versions"][0]["ETag"],
    }
    plain = s3.get_object_attributes(Bucket=bucket, Key=key, ObjectAttributes=["ETag"])["ETag"]
    found["attributes"] = '"' + plain.strip('"') + '"'
    equal(found, {name: tag for name in found}, f"tags of {key}")
    return tag


@pytest.mark.needs_proxy
def test_an_object_has_one_tag_whatever_the_rule_of_its_bucket(world):
    bucket = world.bucket("tags")
    s3, readable = (world.client(world.another_proxy(extra=it).url) for it in (OPEN, READABLE))
    readable.put_object(Bucket=bucket, Key="sealed", Body=b"content")
    told = {"plain": s3.put_object(Bucket=bucket, Key="plain", Body=b"content")["ETag"]}
    upload_id = s3.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
    which = {"Bucket": bucket, "Key": "parts", "UploadId": upload_id}
    sent = s3.upload_part(PartNumber=1, Body=content(5 * MIB), **which)["ETag"]
    copied = s3.upload_part_copy(
        PartNumber=2,
        CopySource=f"{bucket}/plain",
        CopySourceIfMatch=told["plain"],
        **which,
    )["CopyPartResult"]["ETag"]
    equal([it["ETag"] for it in s3.list_parts(**which)["Parts"]], [sent, copied], "tags of parts")
    parts = [{"PartNumber": 1, "ETag": sent}, {"PartNumber": 2, "ETag": copied}]
    done = s3.complete_multipart_upload(MultipartUpload={"Parts": parts}, **which)
    told["parts"] = done["ETag"]
    for source in ("plain", "sealed"):
        for name, front in (("open", s3), ("readable", readable)):
            key = f"{source} copied, {name}"
            answer = front.copy_object(
                Bucket=bucket,
                Key=key,
                CopySource=f"{bucket}/{source}",
                CopySourceIfMatch=one_tag(front, bucket, source),
            )
            told[key] = answer["CopyObjectResult"]["ETag"]
    for key, tag in told.items():
        for front in (s3, readable):
            equal(one_tag(front, bucket, key), tag, f"tag of {key}")
            front.get_object(Bucket=bucket, Key=key, IfMatch=tag)
            with refused(304):
                front.get_object(Bucket=bucket, Key=key, IfNoneMatch=tag)
            with refused(412):
                front.get_object(Bucket=bucket, Key=key, IfMatch=OTHER)
    tag = s3.put_object(Bucket=bucket, Key="plain", Body=b"next", IfMatch=told["plain"])["ETag"]
    equal(one_tag(s3, bucket, "plain"), tag, "tag of what was replaced")
