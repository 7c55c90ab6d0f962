"""HTTP as it goes over the wire: continuation, lengths, connections, hosts."""

import http.client

from content import KIB, content, equal, same
from proxy import VIRTUAL_HOSTS
from wire import UNSIGNED, quote
from world import absent, refusal


def test_the_body_is_asked_for_by_100_continue(world):
    bucket = world.bucket("continue")
    data = content(300_000, "continue")
    exchange = world.wire.begin(
        "PUT", f"/{bucket}/k", {"expect": "100-continue", "content-length": str(len(data))}
    )
    exchange.socket.settimeout(10)
    first = exchange.socket.recv(4096)
    assert first.startswith(b"HTTP/1.1 100 Continue\r\n"), first
    exchange.send(data)
    equal(exchange.reply().status, 200, "status")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_an_upload_without_a_length_is_refused(world):
    bucket = world.bucket("length")
    exchange = world.wire.begin("PUT", f"/{bucket}/k", {"transfer-encoding": "chunked"})
    exchange.send(b"3\r\nabc\r\n0\r\n\r\n")
    refusal(exchange.reply(), (400, 411))
    absent(world.s3, bucket, "k")


def test_head_has_no_body(world):
    bucket = world.bucket("head")
    world.s3.put_object(Bucket=bucket, Key="k", Body=content(50_000))
    exchange = world.wire.begin("HEAD", f"/{bucket}/k", payload=UNSIGNED)
    exchange.socket.settimeout(1)
    data = b""
    try:
        while piece := exchange.socket.recv(65536):
            data += piece
    except TimeoutError:
        pass
    exchange.close()
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"content-length: 50000" in head.lower(), head
    equal(body, b"", "body of HEAD")


def test_one_connection_serves_many_requests(world):
    """Put, get, a miss and a refusal, one after the other on one socket: none may leave bytes for the next."""
    bucket = world.bucket("keepalive")
    connection = http.client.HTTPConnection("127.0.0.1", world.wire.port, timeout=30)

    def ask(method, target, body=b"", signer=None):
        headers = {"host": world.wire.host, "content-length": str(len(body))}
        headers, _ = (signer or world.wire.signer()).header(method, target, headers, UNSIGNED)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.read()

    for number in range(5):
        data = content(40_000 + number, "keepalive")
        target = f"/{bucket}/{quote(f'k {number}')}"
        equal(ask("PUT", target, data)[0], 200, "status of PUT")
        same(ask("GET", target)[1], data)
        equal(ask("HEAD", target), (200, b""), "HEAD")
        equal(ask("GET", target + "-missing")[0], 404, "status of a miss")
        equal(ask("DELETE", target)[0], 204, "status of DELETE")
    connection.close()


def test_virtual_host_style_is_understood(world):
    """The bucket in the host name, as SDKs do by default. Localhost's subdomains are loopback."""
    bucket = world.bucket("virtual")
    front = world.another_proxy(extra=VIRTUAL_HOSTS) if world.proxy else world.server
    world.s3.put_object(Bucket=bucket, Key="k", Body=b"x" * (64 * KIB))
    headers = {"host": f"{bucket}.localhost:{front.port}"}
    reply = world.wire_to(front).request("GET", "/k", headers)
    equal(reply.status, 200, f"status ({reply})")
    equal(len(reply.body), 64 * KIB, "length")
