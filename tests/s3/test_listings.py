"""boto3: listings of both versions, of versions, in pages and by folder."""

import gzip

import pytest

from content import CHUNK, MIB, content, equal
from test_multipart import upload
from world import keys

pytestmark = pytest.mark.with_names

FOLDERS = ["a/1", "a/2", "a/b/3", "c/4", "d", "e+f/5", "é/6"]


def fill(world, names):
    bucket = world.bucket("list")
    for size, name in enumerate(names):
        world.s3.put_object(Bucket=bucket, Key=name, Body=content(size))
    return bucket


def prefixes(page):
    return [it["Prefix"] for it in page.get("CommonPrefixes", [])]


def names(page):
    return [it["Key"] for it in page.get("Contents", [])]


def test_both_versions_list_the_same(world):
    bucket = fill(world, FOLDERS)
    one, two = world.s3.list_objects(Bucket=bucket), world.s3.list_objects_v2(Bucket=bucket)
    expected = [(name, size) for size, name in enumerate(FOLDERS)]
    equal([(it["Key"], it["Size"]) for it in one["Contents"]], expected, "first version")
    equal([(it["Key"], it["Size"]) for it in two["Contents"]], expected, "second version")
    equal(two["KeyCount"], len(FOLDERS), "count")
    tags = [[it["ETag"] for it in page["Contents"]] for page in (one, two)]
    equal(tags[0], tags[1], "entity tags")


def test_sizes_of_whole_and_multipart_objects_are_exact(world):
    bucket = world.bucket("list")
    expected = {}
    for size in (0, 1, CHUNK, 5 * MIB - 1, 5 * MIB):
        world.s3.put_object(Bucket=bucket, Key=f"whole {size}", Body=content(size))
        expected[f"whole {size}"] = size
    for lengths in ([0], [1], [5 * MIB], [5 * MIB, 0], [5 * MIB, 5 * MIB, 5 * MIB - 1], [16 * MIB]):
        key = "parts " + "-".join(map(str, lengths))
        upload(world, bucket, key, lengths)
        expected[key] = sum(lengths)
    entries = world.s3.list_objects_v2(Bucket=bucket)["Contents"]
    equal({it["Key"]: it["Size"] for it in entries}, expected, "sizes")
    for entry in entries:
        head = world.s3.head_object(Bucket=bucket, Key=entry["Key"])
        equal((head["ContentLength"], head["ETag"]), (entry["Size"], entry["ETag"]), entry["Key"])


def test_folders_are_folded(world):
    bucket = fill(world, FOLDERS)
    for method in (world.s3.list_objects, world.s3.list_objects_v2):
        page = method(Bucket=bucket, Delimiter="/")
        equal(prefixes(page), ["a/", "c/", "e+f/", "é/"], "prefixes")
        equal(names(page), ["d"], "keys")
        page = method(Bucket=bucket, Delimiter="/", Prefix="a/")
        equal((prefixes(page), names(page)), (["a/b/"], ["a/1", "a/2"]), "below a/")
        page = method(Bucket=bucket, Prefix="a")
        equal(names(page), ["a/1", "a/2", "a/b/3"], "with prefix a")
        equal(names(method(Bucket=bucket, Prefix="nothing")), [], "with a prefix of nothing")


def test_pages_of_every_size(world):
    expected = sorted(f"k{number:02}" for number in range(23))
    bucket = fill(world, expected)
    for size in (1, 2, 7, 22, 23, 24, 1000):
        for operation in ("list_objects", "list_objects_v2"):
            pages = world.s3.get_paginator(operation).paginate(
                Bucket=bucket, PaginationConfig={"PageSize": size}
            )
            got = [name for page in pages for name in names(page)]
            equal(got, expected, f"{operation} in pages of {size}")


def test_pages_of_folders(world):
    bucket = fill(world, [f"f{folder}/{number}" for folder in range(5) for number in range(3)])
    pages = world.s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": 2}
    )
    got = [it for page in pages for it in prefixes(page)]
    equal(got, [f"f{folder}/" for folder in range(5)], "prefixes")


def test_listings_begin_behind_a_key(world):
    bucket = fill(world, ["a", "b", "c", "d"])
    equal(names(world.s3.list_objects_v2(Bucket=bucket, StartAfter="b")), ["c", "d"])
    equal(names(world.s3.list_objects(Bucket=bucket, Marker="b")), ["c", "d"])
    equal(names(world.s3.list_objects_v2(Bucket=bucket, StartAfter="bb")), ["c", "d"])


def test_a_client_that_takes_compressed_answers_gets_lists_that_are_right(world):
    """Some servers compress longer lists for it; as rclone asks."""
    bucket = world.bucket("list")
    for number in range(12):
        world.s3.put_object(Bucket=bucket, Key=f"d/{number:02}", Body=content(number))
    for query in ("list-type=2", "delimiter=&max-keys=1000&prefix=", "versions="):
        reply = world.wire.request("GET", f"/{bucket}?{query}", {"accept-encoding": "gzip"})
        equal(reply.status, 200, f"status ({reply})")
        body = reply.body
        if reply.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        for number in range(12):
            assert f"<Size>{number}</Size>" in body.decode(), f"{query}: {number}"


def test_an_empty_bucket_has_an_empty_list(world):
    bucket = world.bucket("list")
    page = world.s3.list_objects_v2(Bucket=bucket)
    equal((page["KeyCount"], names(page), page["IsTruncated"]), (0, [], False), "page")


def test_pages_of_no_entries(world):
    bucket = fill(world, ["a", "b"])
    page = world.s3.list_objects_v2(Bucket=bucket, MaxKeys=0)
    equal((page["KeyCount"], names(page), page["IsTruncated"]), (0, [], False), "page")


def go_on_behind_parts(world, method):
    """Short parts wait in the bucket, between the keys of clients: clients never see them."""
    s3 = world.s3
    written = ["-a", "-b/x", ".endseal-", "0", "z"]
    bucket = fill(world, written)
    which = {"Bucket": bucket, "Key": "large"}
    which["UploadId"] = s3.create_multipart_upload(**which)["UploadId"]
    for number in range(1, 6):
        s3.upload_part(PartNumber=number, Body=b"short", **which)
    for size in (1, 2, 4):
        for options in ({}, {"Delimiter": "/"}):
            pages = s3.get_paginator(method).paginate(
                Bucket=bucket, PaginationConfig={"PageSize": size}, **options
            )
            found = []
            for page in pages:
                here = names(page) + [it["Key"] for it in page.get("Versions", [])]
                here += prefixes(page)
                assert here or not page["IsTruncated"], (method, size, options)
                found += here
            expected = [it.replace("-b/x", "-b/") if options else it for it in written]
            equal(sorted(found), sorted(expected), f"{method} {size} {options}")


def test_pages_go_on_behind_parts_of_uploads(world):
    go_on_behind_parts(world, "list_objects")
    go_on_behind_parts(world, "list_objects_v2")


def test_pages_of_versions_go_on_behind_parts_of_uploads(world):
    go_on_behind_parts(world, "list_object_versions")


def test_versions_are_listed_with_their_sizes(world):
    bucket = world.bucket("versions")
    s3 = world.s3
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    written = {}
    for size in (10, 20_000, 0):
        data = content(size, "version")
        written[s3.put_object(Bucket=bucket, Key="k", Body=data)["VersionId"]] = data
    marker = s3.delete_object(Bucket=bucket, Key="k")["VersionId"]
    page = s3.list_object_versions(Bucket=bucket)
    shown = {it["VersionId"]: it["Size"] for it in page["Versions"]}
    equal(shown, {version: len(data) for version, data in written.items()}, "sizes")
    equal([it["VersionId"] for it in page["DeleteMarkers"]], [marker], "markers")
    equal(keys(s3, bucket), [], "keys")
    for version, data in written.items():
        got = s3.get_object(Bucket=bucket, Key="k", VersionId=version)
        equal((got["Body"].read(), got["VersionId"]), (data, version), "a version")
        head = s3.head_object(Bucket=bucket, Key="k", VersionId=version)
        equal(head["ContentLength"], len(data), "HEAD of a version")
    s3.delete_object(Bucket=bucket, Key="k", VersionId=marker)
    equal(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"", "the newest version")


def test_versions_of_multipart_objects(world):
    bucket = world.bucket("versions")
    world.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    first = upload(world, bucket, "k", [5 * MIB, 9])
    upload(world, bucket, "k", [300])
    versions = world.s3.list_object_versions(Bucket=bucket)["Versions"]
    equal([(it["Size"], it["IsLatest"]) for it in versions], [(300, True), (5 * MIB + 9, False)])
    old = world.s3.get_object(
        Bucket=bucket, Key="k", VersionId=versions[1]["VersionId"], Range="bytes=5242870-"
    )
    equal(old["Body"].read(), first[5242870:], "range of an older version")


def test_buckets_come_and_go(world):
    bucket = world.bucket("bucket")
    assert bucket in [it["Name"] for it in world.s3.list_buckets()["Buckets"]]
    world.s3.head_bucket(Bucket=bucket)
    world.s3.get_bucket_location(Bucket=bucket)
    world.s3.delete_bucket(Bucket=bucket)
    assert bucket not in [it["Name"] for it in world.s3.list_buckets()["Buckets"]]
