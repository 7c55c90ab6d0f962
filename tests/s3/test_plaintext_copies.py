"""Objects that were there before the proxy: a copy seals them."""

import pytest

from content import CHUNK, content, equal, same
from wire import quote

pytestmark = pytest.mark.needs_proxy

READABLE = '[[bucket]]\nname = "*"\nplaintext = "read-only"'
TAGS = [{"Key": "a", "Value": "1"}, {"Key": "b c", "Value": "x=y z+/@"}]


def sorted_tags(client, bucket, key):
    found = client.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
    return sorted(found, key=lambda tag: tag["Key"])


def test_copies_that_are_sealed_keep_their_tags(world):
    s3 = world.client(world.another_proxy(extra=READABLE).url)
    bucket, data = world.bucket("moved"), content(3 * CHUNK, "moved")
    tagging = "&".join(f"{quote(it['Key'], '')}={quote(it['Value'], '')}" for it in TAGS)
    world.back.put_object(
        Bucket=bucket, Key="plain", Body=data, Tagging=tagging, Metadata={"m": "1"}
    )
    source = {"Bucket": bucket, "Key": "plain"}
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=source)
    s3.copy_object(
        Bucket=bucket, Key="other", CopySource=source, TaggingDirective="REPLACE", Tagging="c=3"
    )
    # The way in which a bucket is moved in.
    s3.copy_object(Bucket=bucket, Key="plain", CopySource=source, StorageClass="STANDARD")
    for key, expected in (("copy", TAGS), ("other", [{"Key": "c", "Value": "3"}]), ("plain", TAGS)):
        got = world.s3.get_object(Bucket=bucket, Key=key)
        same(got["Body"].read(), data, key)
        equal(got["Metadata"], {"m": "1"}, f"metadata of {key}")
        equal(sorted_tags(world.s3, bucket, key), expected, f"tags of {key}")
        sealed = world.back.get_object(Bucket=bucket, Key=key)["Body"].read()
        assert data[:32] not in sealed, key


def test_copies_of_no_tags_have_none(world):
    s3 = world.client(world.another_proxy(extra=READABLE).url)
    bucket = world.bucket("moved")
    world.back.put_object(Bucket=bucket, Key="plain", Body=b"plaintext")
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "plain"})
    equal(world.s3.get_object_tagging(Bucket=bucket, Key="copy")["TagSet"], [])
