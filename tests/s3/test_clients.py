"""Clients of others with the same few operations (clients.py); boto3 looks at the result of each."""

import os
import re

import pytest

from clients import LIBRARIES, PROGRAMS
from commands import write
from content import MIB, content, equal, same
from world import absent

CLIENTS = {**LIBRARIES, **PROGRAMS}
OTHERS = [pytest.param(it, marks=pytest.mark.other_client) for it in PROGRAMS]


@pytest.fixture(params=[*LIBRARIES, *OTHERS])
def client(request, world):
    try:
        return CLIENTS[request.param](world, world.bucket(request.param))
    except FileNotFoundError as reason:
        pytest.skip(str(reason))


def operation(client, name):
    if not hasattr(client, name):
        pytest.skip(f"has no {name}")
    return getattr(client, name)


def stored(client, key):
    return client.world.s3.get_object(Bucket=client.bucket, Key=key)["Body"].read()


def store(client, key, data):
    client.world.s3.put_object(Bucket=client.bucket, Key=key, Body=data)


def upload(client, data):
    return write(client.folder_of_files, "up", data)


def test_objects_of_every_size_go_both_ways(client):
    for size in (0, 1, 16384, 100_000, 3 * MIB):
        data = content(size, "clients")
        client.put("dir/k ö", upload(client, data))
        same(stored(client, "dir/k ö"), data, f"put of {size}")
        same(client.get("dir/k ö"), data, f"get of {size}")


def test_three_parts_of_5_mib_go_both_ways(client):
    data = content(15 * MIB, "clients")
    client.parts("k", upload(client, data))
    head = client.world.s3.head_object(Bucket=client.bucket, Key="k")
    equal(head["ContentLength"], len(data), "length")
    assert re.search(r'-[2-4]"$', head["ETag"]), head["ETag"]
    same(stored(client, "k"), data, "upload")
    same(client.get("k"), data, "download")


def test_a_range_over_chunks(client):
    data = content(200_000)
    store(client, "k", data)
    for first, last in ((0, 0), (16380, 70_000), (199_999, 199_999)):
        same(operation(client, "range")("k", first, last), data[first : last + 1])


def test_lists_have_lengths_of_contents(client):
    for number in range(7):
        store(client, f"d/{number}", content(number * 10_000))
    store(client, "e", b"not below d")
    equal(client.list("d/"), {f"d/{number}": number * 10_000 for number in range(7)}, "list")


def test_copies_within_the_server(client):
    data = content(100_000)
    # No space, which s5cmd makes a plus: what that says in a header, servers do not agree on.
    store(client, "dir/ö", data)
    client.copy("dir/ö", "copy")
    same(stored(client, "copy"), data)


def test_deletion(client):
    store(client, "k", b"x")
    client.delete("k")
    absent(client.world.s3, client.bucket, "k")


def test_a_missing_object_is_an_error(client):
    with pytest.raises(Exception, match=r"NoSuchKey|404|NotFound|[Nn]ot found|does not exist"):
        client.get("missing")
    assert not os.path.exists(client.file())


def test_folders_are_marked(client):
    operation(client, "folder")("a/b")
    store(client, "a/b/k", b"x")
    equal(client.list("a/"), {"a/b/k": 1}, "list")
    equal(stored(client, "a/b/"), b"", "marker")
