"""Presigned URLs: who has one may do what it says, as long as it says."""

import urllib.parse

import pytest

from content import MIB, content, equal, same
from test_signatures import DATA, a_bucket
from wire import now, quote
from world import absent, refusal

pytestmark = pytest.mark.with_names


def test_presigned_get_and_put(world):
    bucket = a_bucket(world)
    key = "new ö+%.txt"
    target = f"/{bucket}/{quote(key)}"
    signer = world.wire.signer()
    put = signer.presigned("PUT", target, world.wire.host, 60)
    equal(world.wire.bare("PUT", put, body=DATA).status, 200, "status of PUT")
    get = signer.presigned("GET", target, world.wire.host, 60)
    reply = world.wire.bare("GET", get)
    equal(reply.status, 200, f"status of GET ({reply})")
    same(reply.body, DATA)
    ranged = world.wire.bare("GET", get, {"range": "bytes=20000-40000"})
    equal(ranged.status, 206, f"status of a range ({ranged})")
    same(ranged.body, DATA[20000:40001])


def test_urls_presigned_by_boto3(world):
    bucket = a_bucket(world)

    def fetch(method, operation, headers=None, body=b"", **parameters):
        url = world.s3.generate_presigned_url(
            operation, Params={"Bucket": bucket, **parameters}, ExpiresIn=60
        )
        parts = urllib.parse.urlsplit(url)
        return world.wire.bare(method, f"{parts.path}?{parts.query}", headers, body)

    reply = fetch("GET", "get_object", Key="k", ResponseContentType="image/png")
    equal((reply.status, reply.headers["content-type"]), (200, "image/png"), "answer")
    same(reply.body, DATA)
    equal(fetch("HEAD", "head_object", Key="k").headers["content-length"], "50000", "length")
    reply = fetch(
        "PUT", "put_object", {"content-type": "text/x"}, DATA, Key="new", ContentType="text/x"
    )
    equal(reply.status, 200, f"status of PUT ({reply})")
    got = world.s3.get_object(Bucket=bucket, Key="new")
    equal(got["ContentType"], "text/x", "type")
    same(got["Body"].read(), DATA)
    refusal(
        fetch("PUT", "put_object", {"content-type": "text/y"}, b"", Key="n", ContentType="text/x"),
        403,
    )
    equal(fetch("GET", "list_objects_v2").status, 200, "status of LIST")
    equal(fetch("DELETE", "delete_object", Key="k").status, 204, "status of DELETE")


def test_a_multipart_upload_by_presigned_parts(world):
    """As browsers upload: the page's server begins and completes, the browser has URLs only."""
    bucket = a_bucket(world)
    upload_id = world.s3.create_multipart_upload(Bucket=bucket, Key="m")["UploadId"]
    parts = []
    pieces = [content(5 * MIB, "presigned"), b"end"]
    for number, data in enumerate(pieces, 1):
        target = f"/{bucket}/m?partNumber={number}&uploadId={quote(upload_id, '')}"
        url = world.wire.signer().presigned("PUT", target, world.wire.host, 60)
        reply = world.wire.bare("PUT", url, body=data)
        equal(reply.status, 200, f"status of part {number} ({reply})")
        parts.append({"PartNumber": number, "ETag": reply.headers["etag"]})
    world.s3.complete_multipart_upload(
        Bucket=bucket, Key="m", UploadId=upload_id, MultipartUpload={"Parts": parts}
    )
    same(world.s3.get_object(Bucket=bucket, Key="m")["Body"].read(), b"".join(pieces))


def test_expired_urls_are_refused(world):
    bucket = a_bucket(world)
    for seconds, minutes in ((60, -5), (1, -1), (3600, -61)):
        signer = world.wire.signer(now(minutes))
        for method, key in (("GET", "k"), ("PUT", "new")):
            url = signer.presigned(method, f"/{bucket}/{key}", world.wire.host, seconds)
            refusal(world.wire.bare(method, url), 403, "AccessDenied", "ExpiredToken")
    absent(world.s3, bucket, "new")


def test_urls_that_live_too_long_are_refused(world):
    bucket = a_bucket(world)
    url = world.wire.signer().presigned("GET", f"/{bucket}/k", world.wire.host, 8 * 86400)
    refusal(world.wire.bare("GET", url), (400, 403))


def test_urls_that_were_changed_are_refused(world):
    bucket = a_bucket(world)
    world.s3.put_object(Bucket=bucket, Key="other", Body=b"x")
    url = world.wire.signer().presigned("GET", f"/{bucket}/k", world.wire.host, 60)
    equal(world.wire.bare("GET", url).status, 200, "status unchanged")
    for changed in (
        url.replace("/k?", "/other?"),
        url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"),
        url + "&response-content-type=text/html",
        url.replace("X-Amz-Signature=", "X-Amz-Signature=00"),
        url[:-64] + "0" * 64,
    ):
        refusal(world.wire.bare("GET", changed), (400, 403))
    refusal(world.wire.bare("PUT", url, body=b"x"), 403)
    refusal(world.wire.bare("DELETE", url), 403)
