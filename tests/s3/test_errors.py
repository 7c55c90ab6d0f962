"""What error documents say, and other answers that clients read."""

import pytest
from botocore.exceptions import ClientError

from content import content, equal
from test_signatures import DATA, a_bucket
from world import refusal

pytestmark = [pytest.mark.with_names, pytest.mark.needs_proxy]


def error_of(call, **parameters):
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    return caught.value.response["Error"]


def test_errors_name_what_they_are_about(world):
    bucket, s3 = a_bucket(world), world.s3
    error = error_of(s3.put_object, Bucket=bucket, Key="k", Body=b"x", IfNoneMatch="*")
    equal(error["Condition"], "If-None-Match", "condition")
    error = error_of(s3.get_object, Bucket=bucket, Key="k", IfMatch='"other"')
    equal(error["Condition"], "If-Match", "condition")
    equal(error_of(s3.get_object, Bucket=bucket, Key="a&b")["Key"], "a&b", "key")
    copy = {"Bucket": bucket, "Key": "none"}
    error = error_of(s3.copy_object, Bucket=bucket, Key="copy", CopySource=copy)
    equal((error["Code"], error["Key"]), ("NoSuchKey", "none"), "source")
    error = error_of(s3.list_objects_v2, Bucket="missing-bucket")
    equal((error["Code"], error["BucketName"]), ("NoSuchBucket", "missing-bucket"), "bucket")
    error = error_of(s3.get_object, Bucket=bucket, Key="k", Range="bytes=999999-")
    equal(error["ActualObjectSize"], str(len(DATA)), "size")
    equal(error["RangeRequested"], "bytes=999999-", "range")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="m")["UploadId"]
    s3.abort_multipart_upload(Bucket=bucket, Key="m", UploadId=upload)
    parts = {"Parts": [{"PartNumber": 1, "ETag": '"0-0"'}]}
    error = error_of(
        s3.complete_multipart_upload, Bucket=bucket, Key="m", UploadId=upload, MultipartUpload=parts
    )
    equal((error["Code"], error["UploadId"]), ("NoSuchUpload", upload), "upload")


def test_the_location_of_an_upload_is_a_url(world):
    bucket, s3 = a_bucket(world), world.s3
    upload = s3.create_multipart_upload(Bucket=bucket, Key="a b")["UploadId"]
    tag = s3.upload_part(
        Bucket=bucket, Key="a b", UploadId=upload, PartNumber=1, Body=content(100, "location")
    )["ETag"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": tag}]}
    for _ in range(2):
        done = s3.complete_multipart_upload(
            Bucket=bucket, Key="a b", UploadId=upload, MultipartUpload=parts
        )
        equal(done["Location"], f"{world.url}/{bucket}/a%20b", "location")


def test_a_copy_of_the_null_version_is_no_reason_to_try_again(world):
    """A bucket without versions has one of this name, or refuses it."""
    bucket = a_bucket(world)
    headers = {"x-amz-copy-source": f"/{bucket}/k?versionId=null"}
    reply = world.wire.request("PUT", f"/{bucket}/copy", headers)
    assert reply.status in (200, 400, 404), reply.status


def test_keys_that_are_too_long(world):
    bucket = a_bucket(world)
    refusal(world.wire.request("GET", f"/{bucket}/{'k' * 1025}"), 400, "KeyTooLongError")


def test_urls_that_live_for_no_time(world):
    bucket = a_bucket(world)
    target = world.wire.signer().presigned("GET", f"/{bucket}/k", world.wire.host, 0)
    refusal(world.wire.bare("GET", target), 403, "AccessDenied")
