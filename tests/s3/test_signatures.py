"""Authentication: signatures in headers, and every error in them."""

import pytest

import wire
from content import content, equal, same
from wire import Signer, now
from world import absent, refusal

DATA = content(50_000, "signatures")


def a_bucket(world):
    bucket = world.bucket("sign")
    world.s3.put_object(Bucket=bucket, Key="k", Body=DATA)
    return bucket


def both(world, bucket, status, *codes, **options):
    """GET and PUT are refused, and nothing is stored."""
    refusal(world.wire.request("GET", f"/{bucket}/k", **options), status, *codes)
    refusal(world.wire.request("PUT", f"/{bucket}/new", body=b"x", **options), status, *codes)
    absent(world.s3, bucket, "new")


def test_a_wrong_secret_is_refused(world):
    bucket = a_bucket(world)
    signer = Signer(world.access, world.secret + "x")
    both(world, bucket, 403, "SignatureDoesNotMatch", signer=signer)


def test_an_unknown_account_is_refused(world):
    bucket = a_bucket(world)
    both(world, bucket, 403, "InvalidAccessKeyId", signer=Signer("nobody", world.secret))


@pytest.mark.needs_proxy
def test_the_account_of_the_server_is_no_account_of_the_proxy(world):
    bucket = a_bucket(world)
    signer = Signer(world.server.access, world.server.secret)
    both(world, bucket, 403, "InvalidAccessKeyId", signer=signer)


def test_nobody_is_refused(world):
    bucket = a_bucket(world)
    refusal(world.wire.bare("GET", f"/{bucket}/k"), 403, "AccessDenied")
    refusal(world.wire.bare("PUT", f"/{bucket}/new", body=b"x"), 403, "AccessDenied")
    refusal(world.wire.bare("GET", "/"), 403, "AccessDenied")
    absent(world.s3, bucket, "new")


def test_a_clock_that_is_off_is_refused(world):
    bucket = a_bucket(world)
    for minutes in (-20, 20, -60 * 24):
        both(
            world,
            bucket,
            403,
            "RequestTimeTooSkewed",
            "SignatureDoesNotMatch",
            signer=world.wire.signer(now(minutes)),
        )
    for minutes in (-5, 5):
        reply = world.wire.request("GET", f"/{bucket}/k", signer=world.wire.signer(now(minutes)))
        equal(reply.status, 200, f"status {minutes} minutes off ({reply})")


def test_whatever_was_changed_after_signing_is_refused(world):
    bucket = a_bucket(world)
    world.s3.put_object(Bucket=bucket, Key="other", Body=b"x")
    target = f"/{bucket}/k"

    def signed(**more):
        headers, _ = world.wire.signer().header(
            "GET", target, {"host": world.wire.host, **more}, wire.UNSIGNED
        )
        return headers

    equal(world.wire.bare("GET", target, signed()).status, 200, "status unchanged")
    changes = [
        ("GET", f"/{bucket}/other", signed()),
        ("GET", target + "?versionId=null", signed()),
        ("DELETE", target, signed()),
        ("GET", target, {**signed(range="bytes=0-1"), "range": "bytes=0-9"}),
        ("GET", target, {**signed(), "x-amz-content-sha256": wire.EMPTY}),
        ("GET", target, {**signed(), "x-amz-date": world.wire.signer(now(1)).stamp}),
        ("GET", target, {**signed(), "host": f"localhost:{world.wire.port}"}),
    ]
    for method, changed, headers in changes:
        refusal(world.wire.bare(method, changed, headers), 403, "SignatureDoesNotMatch")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), DATA)


@pytest.mark.needs_proxy
def test_amazon_headers_that_are_not_signed_are_refused(world):
    bucket = a_bucket(world)
    headers, _ = world.wire.signer().header(
        "PUT", f"/{bucket}/new", {"host": world.wire.host, "content-length": "1"}, wire.UNSIGNED
    )
    headers["x-amz-copy-source"] = f"{bucket}/k"
    refusal(world.wire.bare("PUT", f"/{bucket}/new", headers, b"x"), 403)
    absent(world.s3, bucket, "new")


def test_authorization_that_makes_no_sense_is_refused(world):
    bucket = a_bucket(world)
    stamp = world.wire.signer().stamp
    for text in (
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b, Signature=c",
        "AWS4-HMAC-SHA256 Credential=a/20200101/us-east-1/s3/aws4_request, Signature=00",
        "Bearer token",
        "Basic YTpi",
        "AWS4-HMAC-SHA256 " + "A" * 4000,
    ):
        headers = {
            "authorization": text,
            "x-amz-date": stamp,
            "x-amz-content-sha256": wire.UNSIGNED,
        }
        refusal(world.wire.bare("GET", f"/{bucket}/k", headers), (400, 403))


@pytest.mark.needs_proxy
def test_signatures_of_version_2_are_refused(world):
    bucket = a_bucket(world)
    headers = {"authorization": f"AWS {world.access}:c2lnbmF0dXJl", "date": "x"}
    refusal(world.wire.bare("GET", f"/{bucket}/k", headers), (400, 403))
    target = f"/{bucket}/k?AWSAccessKeyId={world.access}&Expires=4102444800&Signature=x"
    refusal(world.wire.bare("GET", target), (400, 403))


def test_oversized_heads_are_refused(world):
    bucket = a_bucket(world)
    reply = world.wire.bare("GET", f"/{bucket}/k", {"x-long": "a" * 300_000})
    refusal(reply, (400, 413, 414, 431))
    reply = world.wire.bare("GET", f"/{bucket}/" + "a" * 300_000)
    refusal(reply, (400, 413, 414, 431))
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), DATA)


def test_twisted_paths_stay_in_their_bucket(world):
    """The requested object may be refused or missing; it is never that of another bucket."""
    bucket, other = a_bucket(world), world.bucket("sign")
    for path in (
        f"/{other}/../{bucket}/k",
        f"/{other}/%2e%2e/{bucket}/k",
        f"/{other}/..%2f{bucket}%2fk",
        f"/{other}//../{bucket}/k",
        f"//{bucket}/../{bucket}/nothing",
        f"/{other}/%00/k",
        f"/{other}/..\\{bucket}\\k",
    ):
        reply = world.wire.request("GET", path)
        if reply.status == 200 and DATA[:100] in reply.body:
            raise AssertionError(f"{path} gave the object of another bucket")
        equal(reply.broken, False, f"broken answer for {path}")


@pytest.mark.needs_proxy
def test_signatures_are_never_logged(world):
    bucket = a_bucket(world)
    url = world.wire.signer().presigned("GET", f"/{bucket}/k", world.wire.host, 60)
    world.wire.bare("GET", url)
    world.wire.bare("GET", url[:-4] + "0000")
    words = world.proxy.words()
    for secret in (url[-64:], url[-64:-4], world.secret, world.server.secret):
        if secret in words:
            raise AssertionError("the log has a signature or a secret")
    if not words:
        pytest.skip("the proxy logs nothing at all")
