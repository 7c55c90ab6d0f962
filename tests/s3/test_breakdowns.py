"""Processes that die or vanish: never a short success, never half an object."""

import concurrent.futures
import http.client
import socket
import time

import pytest

from content import MIB, content, equal, same
from servers import answers
from test_multipart import PART, begin, check, complete, put_part
from wire import quote
from world import boto, keys, objects, refusal


def eventually(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} after {seconds} s")
        time.sleep(0.05)


def half_sent(http, target, data, announced=None):
    """A PUT of which the first half was sent."""
    headers = {"content-length": str(announced or len(data))}
    exchange = http.begin("PUT", target, headers)
    exchange.send(data[: len(data) // 2])
    time.sleep(0.2)
    return exchange


def no_success(exchange):
    """An error, or no answer at all."""
    try:
        reply = exchange.reply()
    except (OSError, http.client.HTTPException):
        return
    assert reply.broken or reply.status >= 400, f"what must fail was answered {reply}"


@pytest.mark.needs_proxy
def test_one_upload_over_three_processes_while_one_is_killed(world):
    one, two, three = world.proxy, world.another_proxy(), world.another_proxy()
    clients = {it: world.client(it.url) for it in (one, two, three)}
    bucket = world.bucket("replicas")
    pieces = {1: content(PART, 1), 2: content(7 * MIB, 2), 3: content(PART + 9, 3), 4: b"the end"}
    upload_id = clients[two].create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]

    def put(number, through):
        return put_part(world, bucket, "k", upload_id, number, pieces[number], clients[through])

    parts = [put(3, one), put(1, two)]
    target = f"/{bucket}/k?partNumber=2&uploadId={quote(upload_id, '')}"
    exchange = half_sent(world.wire_to(two), target, pieces[2])
    two.kill()
    no_success(exchange)
    found = clients[three].list_parts(Bucket=bucket, Key="k", UploadId=upload_id)["Parts"]
    # A server may have kept what a dead process sent of part 2; its tag was never returned.
    found = [(it["PartNumber"], it["Size"]) for it in found if it["PartNumber"] != 2]
    equal(found, [(1, PART), (3, PART + 9)], "parts")
    parts += [put(4, one), put(2, three)]
    complete(world, bucket, "k", upload_id, parts, clients[three])
    check(world, bucket, "k", b"".join(pieces[n] for n in sorted(pieces)))


def without_parts(world, bucket, key):
    """MinIO itself, with an upload whose client dies while it is completed: it takes all parts out of their
    list, sees that the client has gone, and does not go on to the object."""
    equal(world.server.name, "minio", "the server that loses parts")
    (upload,) = [
        it
        for it in world.back.list_multipart_uploads(Bucket=bucket)["Uploads"]
        if world.names or it["Key"] == key
    ]
    left = world.back.list_parts(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    equal(left.get("Parts", []), [], "parts at the server")
    refusal(world.wire.request("HEAD", f"/{bucket}/{key}"), 404)


def asked_to_complete(http, bucket, key, upload_id, parts):
    """A completion whose answer is not read."""
    parts = "".join(
        f"<Part><PartNumber>{it['PartNumber']}</PartNumber><ETag>{it['ETag']}</ETag></Part>"
        for it in parts
    )
    body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
    target = f"/{bucket}/{key}?uploadId={quote(upload_id, '')}"
    exchange = http.begin("POST", target, {"content-length": str(len(body))})
    exchange.send(body)
    return exchange


@pytest.mark.needs_proxy
def test_a_client_that_vanishes_while_it_completes_is_told_when_it_asks_again(world):
    """The server is not left alone with half of the work, which MinIO would make nothing of."""
    data = {1: content(PART, "gone"), 2: content(3 * MIB, "gone")}
    bucket = world.bucket("gone")
    for milliseconds in range(20):
        key = f"k{milliseconds}"
        upload_id = begin(world, bucket, key)
        parts = [put_part(world, bucket, key, upload_id, n, data[n]) for n in data]
        exchange = asked_to_complete(world.wire, bucket, key, upload_id, parts)
        time.sleep(milliseconds / 1000)
        exchange.vanish()
        complete(world, bucket, key, upload_id, parts)
        same(world.s3.get_object(Bucket=bucket, Key=key)["Body"].read(), data[1] + data[2])
    eventually(lambda: len(keys(world.back, bucket)) == 20, "something else is left")
    eventually(
        lambda: not world.back.list_multipart_uploads(Bucket=bucket).get("Uploads"),
        "uploads are left",
    )


@pytest.mark.needs_proxy
def test_a_process_killed_while_it_completes(world):
    """At every moment: the object is absent or whole, and another process can end the work."""
    data = {1: content(PART, "kill"), 2: content(3 * MIB, "kill")}
    bucket = world.bucket("kill")
    finished = 0
    for milliseconds in (0, 2, 5, 10, 15, 20, 30, 45, 60, 90):
        key = f"k{milliseconds}"
        victim = world.another_proxy()
        upload_id = begin(world, bucket, key)
        parts = [put_part(world, bucket, key, upload_id, n, data[n]) for n in data]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(
                complete, world, bucket, key, upload_id, parts, world.client(victim.url)
            )
            time.sleep(milliseconds / 1000)
            victim.kill()
            died = running.exception()
        whole = data[1] + data[2]
        if died is None:
            finished += 1
        else:
            assert not isinstance(died, AssertionError), died
            reply = world.wire.request("GET", f"/{bucket}/{key}")
            if reply.status == 200:
                same(reply.body, whole, "object after the kill")
            else:
                refusal(reply, 404)
                try:
                    complete(world, bucket, key, upload_id, parts)
                except world.s3.exceptions.ClientError as error:
                    if error.response["Error"]["Code"] == "InvalidPart":
                        without_parts(world, bucket, key)
                        world.s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
                        upload_id = begin(world, bucket, key)
                        parts = [put_part(world, bucket, key, upload_id, n, data[n]) for n in data]
                        complete(world, bucket, key, upload_id, parts)
                        continue
                    equal(error.response["Error"]["Code"], "NoSuchUpload", "error")
                    # The server had the request of the dead process, and is not done yet.
                    eventually(
                        lambda key=key: (
                            world.wire.request("HEAD", f"/{bucket}/{key}").status == 200
                        ),
                        "the server ends what it began",
                    )
        same(world.s3.get_object(Bucket=bucket, Key=key)["Body"].read(), whole)
        eventually(
            lambda: [it for it in keys(world.s3, bucket) if it.startswith(".endseal")] == [],
            "reserved keys are seen",
        )
    if finished == 10:
        pytest.skip("each completion was faster than its kill")


def test_a_client_that_vanishes_in_an_upload_leaves_nothing(world):
    bucket = world.bucket("vanish")
    data = content(4 * MIB, "vanish")
    for how in ("vanish", "close"):
        exchange = half_sent(world.wire, f"/{bucket}/{how}", data)
        getattr(exchange, how)()
    upload_id = begin(world, bucket, "part")
    for number, length in ((1, 7 * MIB), (2, 100_000)):
        target = f"/{bucket}/part?partNumber={number}&uploadId={quote(upload_id, '')}"
        half_sent(world.wire, target, content(length)).vanish()
    time.sleep(1)
    equal(objects(world.back, bucket), [], "keys that the server has")
    found = world.s3.list_parts(Bucket=bucket, Key="part", UploadId=upload_id)
    equal(found.get("Parts", []), [], "parts")
    world.s3.abort_multipart_upload(Bucket=bucket, Key="part", UploadId=upload_id)


def test_an_upload_that_ends_too_early_is_no_object(world):
    """The client says that it sent everything, and did not."""
    bucket = world.bucket("short")
    data = content(300_000, "short")
    for missing in (1, 16, 150_000):
        exchange = world.wire.begin(
            "PUT", f"/{bucket}/k{missing}", {"content-length": str(len(data))}
        )
        exchange.send(data[: len(data) - missing])
        exchange.socket.shutdown(socket.SHUT_WR)
        no_success(exchange)
    time.sleep(0.5)
    equal(keys(world.back, bucket), [], "keys that the server has")


def test_an_overwritten_object_stays_when_its_successor_breaks(world):
    bucket = world.bucket("vanish")
    data = content(100_000, "first")
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    half_sent(world.wire, f"/{bucket}/k", content(4 * MIB)).vanish()
    time.sleep(0.5)
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def own_server(world):
    """A server to be broken and a front before it."""
    if world.server.data() is None:
        pytest.skip(f"{world.server.name} keeps objects in memory")
    server = world.another_server()
    front = world.another_proxy(server=server)
    s3 = world.client(front.url)
    s3.create_bucket(Bucket="broken")
    return server, front, s3, world.wire_to(front)


@pytest.mark.needs_proxy
def test_a_server_killed_in_mid_upload(world):
    server, front, s3, http = own_server(world)
    data = content(24 * MIB, "kill")
    upload_id = s3.create_multipart_upload(Bucket="broken", Key="part")["UploadId"]
    targets = ["/broken/k", f"/broken/part?partNumber=1&uploadId={quote(upload_id, '')}"]
    for target in targets:
        exchange = half_sent(http, target, data)
        server.kill()
        try:
            exchange.send(data[len(data) // 2 :])
        except OSError:
            pass  # It answers while we send.
        refusal(exchange.reply(), 503)
        server.start()
        equal(objects(boto(server.url, server.access, server.secret), "broken"), [], "keys there")
    # The same process goes on with the server that came back.
    found = s3.list_parts(Bucket="broken", Key="part", UploadId=upload_id).get("Parts", [])
    equal(found, [], "parts")
    s3.put_object(Bucket="broken", Key="k", Body=data)
    same(s3.get_object(Bucket="broken", Key="k")["Body"].read(), data)


@pytest.mark.needs_proxy
def test_a_server_that_is_not_there(world):
    server, front, s3, http = own_server(world)
    s3.put_object(Bucket="broken", Key="k", Body=b"x")
    server.kill()
    for method, body in (("GET", b""), ("HEAD", b""), ("PUT", b"data"), ("DELETE", b"")):
        started = time.monotonic()
        reply = http.request(method, "/broken/k", body=body)
        equal(reply.status, 503, f"status of {method}")
        assert time.monotonic() - started < 20, "the refusal took long"
    assert not answers(front.port, "/readyz", (200,)), "ready without a server"
    assert answers(front.port, "/healthz", (200,)), "the process is well all the same"
    server.start()
    eventually(lambda: answers(front.port, "/readyz", (200,)), "not ready", 30)
    equal(s3.get_object(Bucket="broken", Key="k")["Body"].read(), b"x")


@pytest.mark.needs_proxy
def test_a_server_killed_in_mid_download(world):
    server, _, s3, http = own_server(world)
    data = content(48 * MIB, "download")
    s3.put_object(Bucket="broken", Key="k", Body=data)
    for headers in ({}, {"range": f"bytes=100-{len(data) - 1}"}):
        exchange = http.begin("GET", "/broken/k", headers)
        response = exchange.head()
        assert response.status in (200, 206), response.status
        got = response.read(MIB)
        server.kill()
        broken = False
        try:
            while piece := response.read(MIB):
                got += piece
        except Exception:
            broken = True
        exchange.close()
        start = 100 if headers else 0
        assert broken or len(got) < len(data) - start, "a whole object from a dead server"
        same(got, data[start : start + len(got)], "what came before")
        server.start()
