"""boto3: whole objects, their headers, metadata and tags, and their end."""

import email.header

import pytest

from content import CHUNK, MIB, content, equal, same
from world import absent, keys, refused

pytestmark = pytest.mark.with_names

SIZES = [
    0,
    1,
    15,
    CHUNK - 1,
    CHUNK,
    CHUNK + 1,
    3 * CHUNK,
    100_000,
    MIB + 3,
    5 * MIB - 1,
    5 * MIB,
    5 * MIB + 1,
    20 * MIB,
]


def listed(world, bucket, key):
    page = world.s3.list_objects_v2(Bucket=bucket, Prefix=key)
    return next(it for it in page["Contents"] if it["Key"] == key)


def test_put_and_get_of_every_size(world):
    bucket = world.bucket("sizes")
    for size in SIZES:
        data = content(size)
        put = world.s3.put_object(Bucket=bucket, Key=f"k{size}", Body=data)
        got = world.s3.get_object(Bucket=bucket, Key=f"k{size}")
        same(got["Body"].read(), data, f"object of {size}")
        head = world.s3.head_object(Bucket=bucket, Key=f"k{size}")
        entry = listed(world, bucket, f"k{size}")
        equal(got["ContentLength"], size, "length of GET")
        equal(head["ContentLength"], size, "length of HEAD")
        equal(entry["Size"], size, "size in LIST")
        tags = {put["ETag"], got["ETag"], head["ETag"], entry["ETag"]}
        equal(len(tags), 1, f"number of different entity tags {tags}")


def test_sizes_are_shown_exactly_around_steps(world):
    """The sealed length steps at every chunk and at every 5 MiB: the way back must not slip."""
    bucket = world.bucket("steps")
    sizes = [chunk * CHUNK + by for chunk in (1, 2, 7) for by in (-1, 0, 1)]
    sizes += [slot * 5 * MIB + by for slot in (1, 2) for by in (-16, -1, 0, 1, 16)]
    for size in sizes:
        world.s3.put_object(Bucket=bucket, Key=f"k{size}", Body=content(size))
    shown = {it["Key"]: it["Size"] for it in world.s3.list_objects_v2(Bucket=bucket)["Contents"]}
    equal(shown, {f"k{size}": size for size in sizes}, "sizes in LIST")


def test_entity_tag_of_an_encrypted_object_is_no_md5(world):
    """A client that takes 32 hexadecimal digits for the MD5 of the content reports corruption."""
    if not world.proxy:
        pytest.skip("is about the proxy")
    bucket = world.bucket("tags")
    tag = world.s3.put_object(Bucket=bucket, Key="k", Body=b"x")["ETag"]
    assert "-" in tag and tag.startswith('"') and tag.endswith('"'), tag


def test_an_object_is_replaced(world):
    bucket = world.bucket("replace")
    for size in (100_000, 10, 0, 70_000):
        data = content(size, "replace")
        world.s3.put_object(Bucket=bucket, Key="k", Body=data)
        same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
    equal(keys(world.s3, bucket), ["k"], "keys")


def test_headers_of_the_content_come_back(world):
    bucket = world.bucket("headers")
    given = {
        "ContentType": "text/plain; charset=utf-8",
        "CacheControl": "max-age=60, private",
        "ContentDisposition": 'attachment; filename="a b.txt"',
        "ContentEncoding": "gzip",
        "ContentLanguage": "de-AT",
    }
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"not really gzip", **given)
    for answer in (
        world.s3.head_object(Bucket=bucket, Key="k"),
        world.s3.get_object(Bucket=bucket, Key="k"),
    ):
        got = {name: answer.get(name) for name in given}
        got["ContentType"] = got["ContentType"].replace("plain;charset", "plain; charset")
        equal(got, given, "headers")


def test_query_overrides_headers_of_the_answer(world):
    bucket = world.bucket("override")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x", ContentType="text/plain")
    got = world.s3.get_object(
        Bucket=bucket,
        Key="k",
        ResponseContentType="image/png",
        ResponseContentDisposition="inline",
        ResponseCacheControl="no-store",
    )
    equal(got["ContentType"], "image/png")
    equal(got["ContentDisposition"], "inline")
    equal(got["CacheControl"], "no-store")
    equal(got["Body"].read(), b"x")


def test_user_metadata_come_back(world):
    bucket = world.bucket("meta")
    given = {"plain": "value", "empty-ish": "-", "mtime": "1700000000.123", "with-spaces": "a b  c"}
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata=given)
    for answer in (
        world.s3.head_object(Bucket=bucket, Key="k"),
        world.s3.get_object(Bucket=bucket, Key="k"),
    ):
        equal(answer["Metadata"], given, "metadata")


def test_encoded_unicode_metadata_come_back(world):
    """As SDKs write what is not ASCII: RFC 2047."""
    bucket = world.bucket("meta")
    given = {"name": "=?UTF-8?B?w7ZzdGVycmVpY2gg4piD?="}
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata=given)
    equal(world.s3.head_object(Bucket=bucket, Key="k")["Metadata"], given, "metadata")


def test_raw_unicode_metadata_come_back(world):
    bucket = world.bucket("meta")
    reply = world.wire.request("PUT", f"/{bucket}/k", {"x-amz-meta-name": "österreich ☃"}, b"x")
    equal(reply.status, 200, f"status of PUT ({reply})")
    reply = world.wire.request("HEAD", f"/{bucket}/k")
    value = reply.headers["x-amz-meta-name"]
    # Servers answer with the bytes as they came, or with RFC 2047.
    if value.startswith("=?"):
        value = str(email.header.make_header(email.header.decode_header(value)))
    else:
        value = value.encode("latin-1").decode()
    equal(value, "österreich ☃", "metadata")


def filling(count, more=0):
    """Entries of 500 bytes each, the last one longer."""
    entries = {f"n{number:03}": "v" * 496 for number in range(count)}
    entries["n000"] += "v" * more
    return entries


def test_metadata_fill_what_the_limit_leaves(world):
    """S3 allows 2,048 bytes; the proxy's own entry takes up to 550, and sealing a third."""
    bucket = world.bucket("meta")
    given = filling(2 if world.proxy else 4)
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata=given)
    equal(world.s3.head_object(Bucket=bucket, Key="k")["Metadata"], given, "metadata")
    world.s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/k")
    equal(world.s3.head_object(Bucket=bucket, Key="c")["Metadata"], given, "metadata")


def test_metadata_above_the_limit_are_refused(world):
    bucket = world.bucket("meta")
    with refused(400, "MetadataTooLarge"):
        world.s3.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata=filling(4, 49))
    absent(world.s3, bucket, "k")


@pytest.mark.needs_proxy
def test_metadata_that_leave_no_room_are_refused_clearly(world):
    bucket = world.bucket("meta")
    with refused(400, "MetadataTooLarge"):
        world.s3.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata=filling(4))
    with refused(400, "MetadataTooLarge"):
        world.s3.create_multipart_upload(Bucket=bucket, Key="k", Metadata=filling(4))
    absent(world.s3, bucket, "k")


def test_tags_come_back_and_change(world):
    bucket = world.bucket("tagging")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"tagged", Tagging="a=1&b=two%20words")
    tags = world.s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"]
    equal({it["Key"]: it["Value"] for it in tags}, {"a": "1", "b": "two words"}, "tags")
    world.s3.put_object_tagging(
        Bucket=bucket, Key="k", Tagging={"TagSet": [{"Key": "c", "Value": "3"}]}
    )
    tags = world.s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"]
    equal(tags, [{"Key": "c", "Value": "3"}], "tags")
    world.s3.delete_object_tagging(Bucket=bucket, Key="k")
    equal(world.s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"], [], "tags")
    equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"tagged")


def test_a_deleted_object_is_gone(world):
    bucket = world.bucket("delete")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    world.s3.delete_object(Bucket=bucket, Key="k")
    with refused(404, "NoSuchKey"):
        world.s3.get_object(Bucket=bucket, Key="k")
    absent(world.s3, bucket, "k")
    equal(keys(world.s3, bucket), [], "keys")


def test_deletion_of_what_is_not_there_succeeds(world):
    bucket = world.bucket("delete")
    equal(world.s3.delete_object(Bucket=bucket, Key="k")["ResponseMetadata"]["HTTPStatusCode"], 204)


def test_many_objects_are_deleted_at_once(world):
    bucket = world.bucket("delete")
    names = [f"d/{number:03} &<é+%" for number in range(40)]
    for name in names + ["keep"]:
        world.s3.put_object(Bucket=bucket, Key=name, Body=b"x")
    request = [{"Key": it} for it in names[:20]]
    done = world.s3.delete_objects(Bucket=bucket, Delete={"Objects": request})
    equal(sorted(it["Key"] for it in done["Deleted"]), sorted(names[:20]), "keys deleted")
    request = [{"Key": it} for it in names[20:]]
    done = world.s3.delete_objects(Bucket=bucket, Delete={"Objects": request, "Quiet": True})
    equal(done.get("Errors", []), [], "errors")
    equal(keys(world.s3, bucket), ["keep"], "keys")


def test_what_is_missing_is_named(world):
    bucket = world.bucket("missing")
    with refused(404, "NoSuchKey"):
        world.s3.get_object(Bucket=bucket, Key="nothing")
    with refused(404):
        world.s3.head_object(Bucket=bucket, Key="nothing")
    with refused(404, "NoSuchBucket"):
        world.s3.get_object(Bucket=bucket + "-nothing", Key="k")
    with refused(404, "NoSuchBucket"):
        world.s3.put_object(Bucket=bucket + "-nothing", Key="k", Body=b"x")
