"""Encrypted names, with --names: names as the server sees them, and lists in the order of clients' names."""

import os
import time

import pytest

from commands import tree, write
from content import MIB, content, equal, same
from test_aws_cli import Aws
from test_multipart import begin, put_part, upload
from test_rclone import Rclone
from test_s3cmd import S3cmd
from wire import quote
from world import keys, refusal, refused

pytestmark = [pytest.mark.needs_names, pytest.mark.with_names]

MARK = "zebrafish4711"
FOLDERS = ("", "a/", f"{MARK}/", f"b/{MARK} ö/c/")


def many(folder, number):
    """Files in a few folders, in which the order of names and that of encrypted names differ."""
    files = {f"{FOLDERS[at % 4]}{at:04} {MARK}.txt": content(at, at) for at in range(number)}
    for name, data in files.items():
        write(folder, name, data)
    return files


def shows_the_mark(folder):
    """Names of files, their contents, their extended attributes."""
    mark = MARK.encode()
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            if mark in os.fsencode(path):
                return path
            for attribute in os.listxattr(path):
                if mark in attribute.encode() or mark in os.getxattr(path, attribute):
                    return f"{path} {attribute}"
            if name in files:
                with open(path, "rb") as file:
                    if mark in file.read():
                        return path
    return None


def test_the_server_sees_no_name(world):
    """Objects are written, listed, copied, started as uploads, parked and deleted in every way."""
    s3, bucket = world.s3, world.bucket("names")
    key = f"{MARK}/one {MARK}"
    s3.put_object(Bucket=bucket, Key=key, Body=content(9), WebsiteRedirectLocation=f"/{MARK}")
    elsewhere = s3.head_object(Bucket=bucket, Key=key).get("WebsiteRedirectLocation")
    # MinIO does not keep it.
    equal(elsewhere, None if world.server.name == "minio" else f"/{MARK}", "redirect location")
    s3.copy_object(Bucket=bucket, Key=f"{MARK} copy", CopySource={"Bucket": bucket, "Key": key})
    upload(world, bucket, f"{MARK}/parts", [5 * MIB, 7])
    upload_id = begin(world, bucket, f"{MARK}/open")
    put_part(world, bucket, f"{MARK}/open", upload_id, 1, b"parked")
    s3.put_object_tagging(Bucket=bucket, Key=key, Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    equal(s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"][0]["Value"], "v")
    same(s3.get_object(Bucket=bucket, Key=f"{MARK} copy")["Body"].read(), content(9))
    equal(sorted(keys(s3, bucket)), sorted([f"{MARK} copy", key, f"{MARK}/parts"]), "keys")
    equal(shows_the_mark(world.server.folder), None, "what shows a name")
    missing = world.wire.request("GET", f"/{bucket}/{MARK}%20missing")
    refusal(missing, 404, "NoSuchKey")
    done = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}]})
    equal([it["Key"] for it in done["Deleted"]], [key], "deleted")
    # And the search finds what is there to be found.
    world.back.put_object(Bucket=bucket, Key=f"{MARK}", Body=b"")
    assert shows_the_mark(world.server.folder), "the search finds nothing at all"
    equal(sorted(keys(s3, bucket)), sorted([f"{MARK} copy", f"{MARK}/parts"]), "foreign names")
    world.back.delete_object(Bucket=bucket, Key=f"{MARK}")


def entries(page):
    """Keys and common prefixes of a page, each in the order of the document."""
    found = page.get("Versions", page.get("Contents", page.get("Uploads", [])))
    return [it["Key"] for it in found], [it["Prefix"] for it in page.get("CommonPrefixes", [])]


def sorted_list(names, prefix="", delimiter="", after=""):
    """The entries that a list of S3 has, in the order of their bytes."""
    found = []
    for name in sorted(names, key=str.encode):
        if not name.startswith(prefix) or name.encode() <= after.encode():
            continue
        end = name.find(delimiter, len(prefix)) if delimiter else -1
        line = name if end < 0 else name[: end + len(delimiter)]
        if line != after and line not in found:
            found.append(line)
    return found


MARKERS = {
    "list_objects": "Marker",
    "list_objects_v2": "StartAfter",
    "list_object_versions": "KeyMarker",
    "list_multipart_uploads": "KeyMarker",
}
# versitygw and MinIO do not list all of a folder whose name is that of an object, too.
ODD = ("a b", "a+b", "a/1", "a/b/2", "a0", f"{MARK}/ö", f"{MARK}/z", "ö", "\U0001f993")


def requests(names):
    """Prefixes, also within a component, delimiters, markers between keys and within folders."""
    for prefix in ("", "a", "a/", f"{MARK}/0", "b/z", "nothing/at all"):
        for delimiter in ("", "/"):
            for after in ("", "a/", "a/b", names[len(names) // 2]):
                yield prefix, delimiter, after


def test_lists_are_sorted_in_pages_of_every_size(world):
    s3, bucket = world.s3, world.bucket("names")
    names = [f"{FOLDERS[at % 4]}{at:03}" for at in range(60)] + list(ODD)
    for name in names:
        s3.put_object(Bucket=bucket, Key=name, Body=b"")
    for operation in ("list_objects", "list_objects_v2", "list_object_versions"):
        for prefix, delimiter, after in requests(names):
            asked = {"Bucket": bucket, "Prefix": prefix, MARKERS[operation]: after}
            asked |= {"Delimiter": delimiter} if delimiter else {}
            expected = sorted_list(names, prefix, delimiter, after)
            case = f"{operation} {prefix} {delimiter} {after}"
            for size in (1, 7, 1000) if len(expected) < 9 else (7, 1000):
                config = {"PageSize": size}
                pages = s3.get_paginator(operation).paginate(**asked, PaginationConfig=config)
                found = []
                for page in pages:
                    keys_here, folders = entries(page)
                    equal([keys_here, folders], [sorted(keys_here), sorted(folders)], case)
                    assert len(keys_here) + len(folders) <= size, case
                    found += sorted(keys_here + folders, key=str.encode)
                equal(found, expected, f"{case} in pages of {size}")


def test_lists_of_uploads_are_sorted(world):
    """MinIO lists uploads by their whole key only."""
    bucket = world.bucket("names")
    names = [f"{FOLDERS[at % 4]}{at:02}" for at in range(12)]
    begun = {name: begin(world, bucket, name) for name in names}
    for name in names:
        page = world.s3.list_multipart_uploads(Bucket=bucket, Prefix=name)
        found = [(it["Key"], it["UploadId"]) for it in page["Uploads"]]
        equal(found, [(name, begun[name])], "by the whole key")
    if world.server.name == "minio":
        return
    for prefix, delimiter, after in requests(names):
        asked = {"Bucket": bucket, "Prefix": prefix, "Delimiter": delimiter}
        expected, found = sorted_list(names, prefix, delimiter, after), []
        marker = {"KeyMarker": after}
        while True:
            page = world.s3.list_multipart_uploads(**asked, **marker, MaxUploads=5)
            found += sorted(sum(entries(page), []), key=str.encode)
            if not page["IsTruncated"]:
                break
            marker = {"KeyMarker": page["NextKeyMarker"]}
            marker["UploadIdMarker"] = page.get("NextUploadIdMarker", "")
        equal(found, expected, f"{prefix} {delimiter} {after}")


def test_lists_go_on_behind_a_folder_that_was_shown(world):
    bucket, folders = world.bucket("names"), ("a/", "b/", f"{MARK}/")
    for folder in folders:
        world.s3.put_object(Bucket=bucket, Key=f"{folder}k", Body=b"")
    asked = {"Bucket": bucket, "Delimiter": "/"}
    for operation in ("list_objects", "list_objects_v2", "list_object_versions"):
        ask, marker = getattr(world.s3, operation), MARKERS[operation]
        shown = [it["Prefix"] for it in ask(**asked)["CommonPrefixes"]]
        equal(shown, list(folders), operation)
        for at, folder in enumerate(shown):
            behind = ask(**asked, **{marker: folder}).get("CommonPrefixes", [])
            equal([it["Prefix"] for it in behind], shown[at + 1 :], f"{operation} {folder}")


def test_a_list_of_too_many_keys_says_what_to_do(world):
    front = world.another_proxy(extra="[limits]\nlist_keys = 30\n")
    s3, bucket = world.client(front.url), world.bucket("names")
    for at in range(40):
        s3.put_object(Bucket=bucket, Key=f"{'ab'[at < 5]}/{at}", Body=b"")
    with refused(400, "InvalidRequest"):
        s3.list_objects_v2(Bucket=bucket, Prefix="a/", Delimiter="/")
    folders = s3.list_objects_v2(Bucket=bucket, Delimiter="/")["CommonPrefixes"]
    equal([it["Prefix"] for it in folders], ["a/", "b/"], "folders")
    page = s3.list_objects_v2(Bucket=bucket, Prefix="b/", Delimiter="/")
    equal(page["KeyCount"], 5, "keys of a folder")


def test_versions_are_told_by_the_names_of_clients(world):
    s3, bucket = world.s3, world.bucket("names")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for number in range(3):
        for key in ("a/k", "a/l", "b"):
            s3.put_object(Bucket=bucket, Key=key, Body=content(number))
    s3.delete_object(Bucket=bucket, Key="b")
    pages = s3.get_paginator("list_object_versions").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": 2}
    )
    pages = list(pages)
    found = {(it["Key"], it["Size"]) for page in pages for it in page.get("Versions", [])}
    expected = [(key, number) for key in ("a/k", "a/l", "b") for number in range(3)]
    equal(sorted(found), expected, "versions")
    markers = {it["Key"] for page in pages for it in page.get("DeleteMarkers", [])}
    equal(markers, {"b"}, "markers of deletion")
    page = s3.list_object_versions(Bucket=bucket, Prefix="a/k")
    for version in page["Versions"]:
        place = {"Bucket": bucket, "Key": "a/k", "VersionId": version["VersionId"]}
        same(s3.get_object(**place)["Body"].read(), content(version["Size"]))
        s3.delete_object(**place)
    equal(s3.list_object_versions(Bucket=bucket, Prefix="a/k").get("Versions", []), [])


def test_a_component_without_room_is_refused(world):
    bucket = world.bucket("names")
    for key in ("k" * 753, "/".join(["k"] * 43), "ö" * 400):
        reply = world.wire.request("PUT", f"/{bucket}/{quote(key)}", body=b"x")
        refusal(reply, 400, "KeyTooLongError")


def test_rclone_transfers_nothing_twice(world):
    rclone, bucket, folder = Rclone(world), world.bucket("order"), world.temporary()
    files = many(folder, 60)
    there = f"it:{bucket}/sync"
    small = ("--s3-list-chunk", "7")
    equal(rclone.transferred("sync", *small, folder, there), len(files), "first transfer")
    equal(rclone.transferred("sync", *small, folder, there), 0, "second transfer")
    back = world.temporary()
    rclone("sync", *small, there, back)
    equal(tree(back), files, "files")
    os.remove(os.path.join(folder, next(iter(files))))
    rclone("sync", *small, folder, there)
    rclone("check", *small, folder, there)
    equal(len(keys(world.s3, bucket)), len(files) - 1, "objects")


def test_s3cmd_transfers_nothing_twice(world):
    s3cmd, bucket, folder = S3cmd(world), world.bucket("order"), world.temporary()
    files = many(folder, 60)
    there = f"s3://{bucket}/sync/"
    equal(s3cmd("sync", folder + "/", there).count("upload: "), len(files), "uploads")
    equal(s3cmd("sync", folder + "/", there).count("upload: "), 0, "second time")
    back = world.temporary()
    s3cmd("sync", there, back + "/")
    equal(tree(back), files, "files")
    os.remove(os.path.join(folder, next(iter(files))))
    said = s3cmd("sync", "--delete-removed", folder + "/", there)
    equal((said.count("upload: "), said.count("delete: ")), (0, 1), "changes")
    equal(len(keys(world.s3, bucket)), len(files) - 1, "objects")


def test_recursive_copies_go_both_ways(world):
    aws, bucket, folder = Aws(world), world.bucket("order"), world.temporary()
    files = many(folder, 40)
    aws("s3", "cp", "--recursive", folder, f"s3://{bucket}/all", "--no-progress")
    back = world.temporary()
    aws("s3", "cp", "--recursive", f"s3://{bucket}/all", back, "--no-progress")
    equal(tree(back), files, "files")
    aws("s3", "rm", "--recursive", f"s3://{bucket}/all")
    equal(keys(world.s3, bucket), [], "objects left")


def test_synchronisation_merges_sorted_lists(world):
    """aws-cli compares its list of files with that of the server, entry by entry."""
    aws, bucket, folder = Aws(world), world.bucket("order"), world.temporary()
    files = many(folder, 60)
    for name in files:
        os.utime(os.path.join(folder, name), (time.time() - 10, time.time() - 10))
    there = f"s3://{bucket}/sync"
    small = ("--page-size", "7", "--no-progress")
    equal(aws("s3", "sync", *small, folder, there).count("upload:"), len(files), "uploads")
    equal(aws("s3", "sync", *small, folder, there), "", "second time")
    gone = next(iter(files))
    os.remove(os.path.join(folder, gone))
    said = aws("s3", "sync", "--delete", *small, folder, there)
    equal((said.count("delete:"), said.count("upload:")), (1, 0), said)
    back = world.temporary()
    aws("s3", "sync", *small, there, back)
    del files[gone]
    equal(tree(back), files, "files")
    equal(aws("s3", "sync", *small, there, back), "", "back a second time")
