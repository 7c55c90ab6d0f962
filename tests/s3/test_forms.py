"""boto3 and HTTP: uploads by HTML forms with a policy (POST object)."""

import pytest
import requests

from content import content, equal, same
from world import absent, boto

pytestmark = pytest.mark.with_names

DATA = content(70_000, "forms")


def post(world, bucket, key="k", fields=None, conditions=None, seconds=60, s3=None, changes=None):
    form = (s3 or world.s3).generate_presigned_post(
        bucket, key, Fields=fields, Conditions=conditions, ExpiresIn=seconds
    )
    values = {**form["fields"], **(changes or {})}
    values = {name: value for name, value in values.items() if value is not None}
    return requests.post(
        f"{world.url}/{bucket}",
        data=values,
        files={"file": ("name.bin", DATA)},
        timeout=60,
        allow_redirects=False,
    )


def check(world, bucket, key, answer, status):
    equal(answer.status_code, status, f"status ({answer.text[:200]})")
    got = world.s3.get_object(Bucket=bucket, Key=key)
    same(got["Body"].read(), DATA)
    return got


def test_a_form_stores_an_object(world):
    bucket = world.bucket("form")
    check(world, bucket, "k", post(world, bucket), 204)


def test_the_file_name_goes_into_the_key(world):
    bucket = world.bucket("form")
    answer = post(world, bucket, "in/${filename}")
    check(world, bucket, "in/name.bin", answer, 204)


def test_fields_become_headers_and_metadata(world):
    bucket = world.bucket("form")
    fields = {"Content-Type": "text/x", "x-amz-meta-m": "v", "success_action_status": "201"}
    conditions = [{name: value} for name, value in fields.items()]
    answer = post(world, bucket, fields=fields, conditions=conditions)
    got = check(world, bucket, "k", answer, 201)
    equal((got["ContentType"], got["Metadata"]), ("text/x", {"m": "v"}), "type and metadata")
    assert "<Key>k</Key>" in answer.text, answer.text


def test_the_length_has_bounds(world):
    bucket = world.bucket("form")
    for low, high, status in ((1, 70_000, 204), (1, 69_999, 400), (70_001, 80_000, 400)):
        key = f"k{high}"
        answer = post(world, bucket, key, conditions=[["content-length-range", low, high]])
        equal(answer.status_code, status, f"status ({answer.text[:200]})")
        if status == 400:
            absent(world.s3, bucket, key)


def test_what_the_policy_does_not_say_is_refused(world):
    bucket = world.bucket("form")
    for changes in (
        {"key": "other"},
        {"x-amz-meta-m": "not in the policy"},
        {"policy": "e30="},
        {"x-amz-signature": "0" * 64},
        {"x-amz-signature": None},
        {"x-amz-credential": "nobody/20200101/us-east-1/s3/aws4_request"},
    ):
        answer = post(world, bucket, changes=changes)
        assert answer.status_code in (400, 403), (changes, answer.status_code, answer.text[:200])
    for key in ("k", "other"):
        absent(world.s3, bucket, key)


def test_an_expired_policy_is_refused(world):
    bucket = world.bucket("form")
    answer = post(world, bucket, seconds=-60)
    equal(answer.status_code, 403, f"status ({answer.text[:200]})")
    absent(world.s3, bucket, "k")


def test_the_policy_of_somebody_else_is_refused(world):
    bucket = world.bucket("form")
    other = boto(world.url, world.access, world.secret + "x")
    answer = post(world, bucket, s3=other)
    equal(answer.status_code, 403, f"status ({answer.text[:200]})")
    absent(world.s3, bucket, "k")
