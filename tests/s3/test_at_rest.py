"""Objects at the server: unreadable, and of the length that the specification defines."""

import os

import pytest
import requests

import chunked
import wire
from content import CHUNK, MIB, content, equal, same, sealed_length
from sealed import HEADER, SEALED_METADATA, Sealed
from test_multipart import begin, put_part, upload
from wire import quote
from world import boto, keys, refusal, refused

pytestmark = pytest.mark.needs_proxy

MARK = b"endseal-plaintext-marker-4711-0815"


def marked(length):
    """The mark at both ends and once in every 4 KiB."""
    data = bytearray(content(length, "marked"))
    for at in [*range(0, length - len(MARK), 4096), length - len(MARK)]:
        data[at : at + len(MARK)] = MARK
    return bytes(data)


def files_with_the_mark(folder):
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                if MARK in file.read():
                    found.append(name)
    return found


def test_no_file_of_the_server_has_plaintext(world):
    """Written in every way there is, finished and unfinished."""
    if world.server.data() is None:
        pytest.skip(f"{world.server.name} keeps objects in memory")
    server = world.another_server()
    front = world.another_proxy(server=server)
    s3, http = world.client(front.url), world.wire_to(front)
    s3.create_bucket(Bucket="rest")
    small, big = marked(50_000), marked(6 * MIB)
    s3.put_object(Bucket="rest", Key="small", Body=small)
    s3.put_object(Bucket="rest", Key="big", Body=big)
    s3.copy_object(Bucket="rest", Key="copy", CopySource="rest/small")
    equal(http.request("PUT", "/rest/unsigned", body=small, payload=wire.UNSIGNED).status, 200)
    equal(chunked.put(http, "/rest/chunked", small, wire.SIGNED_CHUNKS).status, 200, "chunked")
    form = s3.generate_presigned_post("rest", "form")
    answer = requests.post(
        front.url + "/rest", data=form["fields"], files={"file": small}, timeout=60
    )
    equal(answer.status_code, 204, "form")
    for key, finish in (("parts", True), ("open", False)):
        upload_id = s3.create_multipart_upload(Bucket="rest", Key=key)["UploadId"]
        parts = []
        for number, data in ((1, big), (2, small)):
            tag = s3.upload_part(
                Bucket="rest", Key=key, UploadId=upload_id, PartNumber=number, Body=data
            )["ETag"]
            parts.append({"PartNumber": number, "ETag": tag})
        tag = s3.upload_part_copy(
            Bucket="rest", Key=key, UploadId=upload_id, PartNumber=3, CopySource="rest/small"
        )["CopyPartResult"]["ETag"]
        if finish:
            s3.complete_multipart_upload(
                Bucket="rest", Key=key, UploadId=upload_id, MultipartUpload={"Parts": parts}
            )
    for key in keys(s3, "rest"):
        assert MARK in s3.get_object(Bucket="rest", Key=key)["Body"].read(), key
    equal(files_with_the_mark(server.folder), [], "files with plaintext")
    # And the search finds what is there to be found.
    boto(server.url, server.access, server.secret).put_object(
        Bucket="rest", Key="control", Body=small
    )
    assert files_with_the_mark(server.folder), "the search finds nothing at all"


def test_sealed_lengths_are_those_of_the_specification(world):
    bucket = world.bucket("rest")
    for size in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 100_000, 5 * MIB - 1, 5 * MIB, 11 * MIB):
        world.s3.put_object(Bucket=bucket, Key="k", Body=content(size))
        there = world.back.head_object(Bucket=bucket, Key="k")["ContentLength"]
        equal(there, sealed_length(size), f"sealed length of {size}")
    for lengths in ([0], [1], [5 * MIB], [5 * MIB, 0], [5 * MIB, 6 * MIB, 7], [5 * MIB + 1] * 4):
        upload(world, bucket, "k", lengths)
        there = world.back.head_object(Bucket=bucket, Key="k")["ContentLength"]
        equal(there, sealed_length(sum(lengths)), f"sealed length of parts {lengths}")


def test_the_header_takes_at_most_550_bytes_of_metadata(world):
    bucket = world.bucket("rest")
    upload(world, bucket, "k", [1])
    world.s3.put_object(Bucket=bucket, Key="w", Body=b"x", Metadata={"m": "v"})
    for key, shown in (("k", {}), ("w", {"m": "v"})):
        metadata = dict(Sealed(world, bucket, key).metadata)
        header = metadata.pop(HEADER)
        assert len("x-amz-meta-endseal") + len(header) <= 550, len(header)
        equal(list(metadata), [SEALED_METADATA], "other metadata")
        equal(world.s3.head_object(Bucket=bucket, Key=key)["Metadata"], shown, "what a client sees")


def test_equal_contents_are_sealed_differently(world):
    bucket = world.bucket("rest")
    data = content(40_000)
    bodies, headers = set(), set()
    for _ in range(3):
        world.s3.put_object(Bucket=bucket, Key="k", Body=data)
        one = Sealed(world, bucket, "k")
        bodies.update(one.body[at : at + 16] for at in range(0, len(one.body) - 900, 16))
        headers.add(one.metadata[HEADER])
    equal(len(headers), 3, "number of different headers")
    equal(len(bodies), 3 * len(range(0, sealed_length(40_000) - 900, 16)), "different blocks")


def test_a_client_cannot_write_the_header(world):
    bucket = world.bucket("rest")
    world.s3.put_object(Bucket=bucket, Key="other", Body=b"other")
    foreign = Sealed(world, bucket, "other").metadata[HEADER]
    for value in ("AAAA", foreign):
        reply = world.wire.request("PUT", f"/{bucket}/k", {"x-amz-meta-endseal": value}, b"data")
        if reply.status == 200:
            equal(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"data")
            assert Sealed(world, bucket, "k").metadata[HEADER] != value
        else:
            refusal(reply, 400)
        reply = world.wire.request(
            "PUT",
            f"/{bucket}/other",
            {
                "x-amz-copy-source": f"{bucket}/other",
                "x-amz-metadata-directive": "REPLACE",
                "x-amz-meta-endseal": value,
            },
        )
        assert reply.status in (200, 400), reply
        equal(world.s3.get_object(Bucket=bucket, Key="other")["Body"].read(), b"other")


def test_reserved_keys_are_neither_seen_nor_named(world):
    bucket = world.bucket("rest")
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    upload_id = begin(world, bucket, "open")
    put_part(world, bucket, "open", upload_id, 1, b"parked")
    there = [it for it in keys(world.back, bucket) if it != "k"]
    assert there and all(it.startswith(".endseal/") for it in there), there
    equal(keys(world.s3, bucket), ["k"], "keys seen")
    folded = world.s3.list_objects_v2(Bucket=bucket, Delimiter="/")
    equal(folded.get("CommonPrefixes", []), [], "prefixes seen")
    page = world.s3.list_objects_v2(Bucket=bucket, Prefix=".endseal/")
    equal(page.get("Contents", []), [], "keys seen with the prefix")
    for key in (there[0], ".endseal/x", ".endseal/parked/"):
        target = f"/{bucket}/{quote(key)}"
        refusal(world.wire.request("GET", target), (400, 403, 404))
        refusal(world.wire.request("HEAD", target), (400, 403, 404))
        refusal(world.wire.request("PUT", target, body=b"x"), (400, 403))
        refusal(world.wire.request("DELETE", target), (400, 403, 404))
        refusal(world.wire.request("POST", target + "?uploads"), (400, 403))
        source = {"x-amz-copy-source": f"{bucket}/{quote(key)}"}
        refusal(world.wire.request("PUT", f"/{bucket}/copy", source), (400, 403, 404))
    with refused(403, "AccessDenied"):
        world.s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": there[0]}]})
    assert there[0] in keys(world.back, bucket), "a client removed a parked part"
    world.s3.abort_multipart_upload(Bucket=bucket, Key="open", UploadId=upload_id)
    equal(keys(world.back, bucket), ["k"], "keys after the abortion")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"x")
