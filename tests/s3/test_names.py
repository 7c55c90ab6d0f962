"""boto3: keys that are easily written wrong, in paths, in XML and in headers."""

import pytest

from content import content, equal, same
from world import absent, keys

pytestmark = pytest.mark.with_names

ODD = {
    "spaces": "a b/ c /d ",
    "plus": "a+b c%2Bd",
    "percent": "100%/%41/%zz%",
    "unicode": "österreich/日本語/☃",
    "emoji": "🔑/🗝️.txt",
    "combining": "e\u0301/\u00e9",
    "xml": "a&b<c>d\"e'f",
    "query": "a?b=c&d#e",
    "dots": "a/...b/..c/d..",
    "hidden": ".hidden/.file",
    "double_slash": "a//b",
    "trailing_slash": "folder/",
    "leading_slash": "/leading",
    "one_dot": "a/./b",
    "two_dots": "a/../b",
    "backslash": "a\\b",
    "colon_and_semicolon": "a:b;c,d=e@f!g$h(i)*",
    "tilde": "~a~b",
    "tab": "a\tb",
    "newline": "a\nb",
    "long": "/".join(["k" * 200] * 5)[:1024],
    "digits_as_a_part": "00001",
}


@pytest.mark.parametrize("name, key", ODD.items(), ids=ODD)
def test_key_with(world, name, key):
    bucket = world.bucket("names")
    data = content(20_000, name)
    world.s3.put_object(Bucket=bucket, Key=key, Body=data)
    equal(keys(world.s3, bucket), [key], "keys of the second listing")
    page = world.s3.list_objects(Bucket=bucket, Prefix=key)
    equal([it["Key"] for it in page["Contents"]], [key], "keys of the first listing")
    same(world.s3.get_object(Bucket=bucket, Key=key)["Body"].read(), data)
    equal(world.s3.head_object(Bucket=bucket, Key=key)["ContentLength"], 20_000, "length")
    world.s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": key})
    same(world.s3.get_object(Bucket=bucket, Key="copy")["Body"].read(), data, "copy")
    done = world.s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}]})
    equal([it["Key"] for it in done.get("Deleted", [])], [key], "keys deleted")
    absent(world.s3, bucket, key)


def test_keys_that_differ_a_little_are_different(world):
    bucket = world.bucket("names")
    names = ["k", "K", "k ", "k+", "k%20", "k.", "k-", "k_"]
    for name in names:
        world.s3.put_object(Bucket=bucket, Key=name, Body=name.encode())
    equal(sorted(keys(world.s3, bucket)), sorted(names), "keys")
    for name in names:
        equal(world.s3.get_object(Bucket=bucket, Key=name)["Body"].read(), name.encode())


def test_a_key_may_be_the_folder_of_another(world):
    bucket = world.bucket("names")
    world.s3.put_object(Bucket=bucket, Key="a", Body=b"1")
    world.s3.put_object(Bucket=bucket, Key="a/b", Body=b"2")
    equal(world.s3.get_object(Bucket=bucket, Key="a")["Body"].read(), b"1")
    equal(world.s3.get_object(Bucket=bucket, Key="a/b")["Body"].read(), b"2")
