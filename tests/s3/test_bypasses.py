"""Requests that would get round the proxy: content that the server itself would change or query,
and the server's own administration. By hand, as few clients send them."""

import pytest

from content import content, equal, same
from wire import quote
from world import keys, refusal

pytestmark = pytest.mark.needs_proxy

DATA = content(30_000, "bypass")


def a_bucket(world):
    bucket = world.bucket("bypass")
    world.s3.put_object(Bucket=bucket, Key="k", Body=DATA)
    return bucket


def untouched(world, bucket):
    """The object is what it was, at the server too, and nothing came to it."""
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), DATA)
    equal(keys(world.back, bucket), ["k"], "keys that the server has")


def refused(world, bucket, method, target, headers=None, body=b"plaintext"):
    before = world.back.head_object(Bucket=bucket, Key="k")["ETag"]
    body = body if method in ("PUT", "POST", "PATCH") else b""
    expected = (405, "MethodNotAllowed") if method == "PATCH" else (501, "NotImplemented")
    refusal(world.wire.request(method, target, headers, body), *expected)
    equal(world.back.head_object(Bucket=bucket, Key="k")["ETag"], before, "entity tag behind")
    untouched(world, bucket)


def test_objects_are_not_renamed(world):
    bucket = a_bucket(world)
    for source in (f"/{bucket}/k", f"{bucket}/k", f"/{bucket}/.endseal/parked/x"):
        headers = {"x-amz-rename-source": source}
        refused(world, bucket, "PUT", f"/{bucket}/new?renameObject", headers, b"")
        refused(world, bucket, "PUT", f"/{bucket}/new", headers, b"")


def test_nothing_is_appended(world):
    bucket = a_bucket(world)
    length = world.back.head_object(Bucket=bucket, Key="k")["ContentLength"]
    for offset in (len(DATA), length, 0):
        headers = {"x-amz-write-offset-bytes": str(offset)}
        refused(world, bucket, "PUT", f"/{bucket}/k", headers)
        for method in ("PUT", "POST"):
            refused(world, bucket, method, f"/{bucket}/k?append&position={offset}")


def test_what_is_sealed_is_not_queried(world):
    bucket = a_bucket(world)
    refused(world, bucket, "POST", f"/{bucket}/k?select&select-type=2")
    refused(world, bucket, "POST", f"/{bucket}/k?select&select-type=2&uploads")
    refused(world, bucket, "GET", f"/{bucket}/k?torrent")
    restore = (
        "<RestoreRequest><Type>SELECT</Type><OutputLocation><S3>"
        f"<BucketName>{bucket}</BucketName><Prefix>out</Prefix></S3></OutputLocation>"
        "</RestoreRequest>"
    )
    refused(world, bucket, "POST", f"/{bucket}/k?restore", body=restore.encode())


def test_archives_are_not_unpacked(world):
    bucket = a_bucket(world)
    for name in ("x-minio-extract", "x-amz-meta-snowball-auto-extract"):
        refused(world, bucket, "PUT", f"/{bucket}/a.tar", {name: "true"})
    refused(world, bucket, "GET", f"/{bucket}/a.zip/inner", {"x-minio-extract": "true"})


def test_parameters_of_other_things_store_no_plaintext(world):
    """A server that does not know a parameter may take the request for one without it."""
    bucket = a_bucket(world)
    for name in ("encryption", "restore", "lifecycle", "website", "policy", "uploads", "versions"):
        refused(world, bucket, "PUT", f"/{bucket}/k?{name}")
        refused(world, bucket, "PUT", f"/{bucket}/new?{name}")
    for target in (f"/{bucket}/new", f"/{bucket}"):
        refused(world, bucket, "POST", target)
        refused(world, bucket, "PATCH", target)
    copy = {"x-amz-copy-source": f"{bucket}/k"}
    for name in ("tagging", "acl", "retention", "legal-hold"):
        refused(world, bucket, "PUT", f"/{bucket}/new?{name}", copy)


def test_parts_take_no_copy_from_the_query(world):
    bucket = a_bucket(world)
    upload_id = world.s3.create_multipart_upload(Bucket=bucket, Key="m")["UploadId"]
    data = content(5 << 20, "part")
    target = f"/{bucket}/m?partNumber=1&uploadId={quote(upload_id, '')}"
    reply = world.wire.request("PUT", f"{target}&x-amz-copy-source={bucket}%2Fk", None, data)
    equal(reply.status, 200, f"status ({reply})")
    world.s3.complete_multipart_upload(
        Bucket=bucket,
        Key="m",
        UploadId=upload_id,
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": reply.headers["etag"]}]},
    )
    same(world.s3.get_object(Bucket=bucket, Key="m")["Body"].read(), data)


def test_the_servers_administration_is_out_of_reach(world):
    """Clients have the proxy's account there: its rights would be theirs."""
    bucket = a_bucket(world)
    user = "/minio/admin/v3/remove-user?accessKey=x"
    reply = world.wire.request("DELETE", user)
    assert reply.status >= 400 and reply.code() != "XMinioAdminNoSuchUser", reply
    refused(world, bucket, "POST", "/minio/admin/v3/service?action=restart")
    account = b"<Account><Access>i</Access><Secret>intruder</Secret><Role>admin</Role></Account>"
    refused(world, bucket, "PATCH", "/create-user", body=account)
    refused(world, bucket, "PATCH", "/list-users", body=b"")
    refused(world, bucket, "POST", "/", body=b"Action=CreateAccessKey&Version=2010-05-08")
    refused(world, bucket, "GET", "/?Action=ListUsers&Version=2010-05-08")
    refused(world, bucket, "GET", f"/{bucket}?session")


def test_keys_do_not_lead_out_of_the_bucket(world):
    bucket, other = a_bucket(world), a_bucket(world)
    for key in (f"../{other}/k", f"a/../../{other}/k", f"./%2E%2E/{other}/k"):
        for method in ("GET", "PUT", "DELETE"):
            body = b"x" if method == "PUT" else b""
            refusal(world.wire.request(method, f"/{bucket}/{key}", None, body), 400, "InvalidURI")
    untouched(world, bucket)
    untouched(world, other)
