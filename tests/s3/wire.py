"""HTTP and AWS Signature Version 4 by hand: what a client library would not send, or would hide."""

import datetime
import hashlib
import hmac
import http.client
import socket
import urllib.parse

from servers import REGION

UNSIGNED = "UNSIGNED-PAYLOAD"
SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY = hashlib.sha256(b"").hexdigest()


def quote(text, safe="/"):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def now(minutes=0):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)


def _mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signer:
    """Signs for one account at one moment."""

    def __init__(self, access, secret, when=None):
        when = when or now()
        self.access = access
        self.stamp = when.strftime("%Y%m%dT%H%M%SZ")
        self.scope = f"{self.stamp[:8]}/{REGION}/s3/aws4_request"
        self.key = f"AWS4{secret}".encode()
        for part in self.scope.split("/"):
            self.key = _mac(self.key, part)

    def _signature(self, kind, *lines):
        return _mac(self.key, "\n".join((kind, self.stamp, self.scope) + lines)).hex()

    def _request(self, method, target, headers, payload):
        path, _, query = target.partition("?")
        lowered = sorted(
            (name.lower(), " ".join(str(value).split())) for name, value in headers.items()
        )
        names = ";".join(name for name, _ in lowered)
        parameters = sorted(it.partition("=")[::2] for it in query.split("&") if it)
        canonical = "\n".join(
            [
                method,
                path,
                "&".join(f"{name}={value}" for name, value in parameters),
                "".join(f"{name}:{value}\n" for name, value in lowered),
                names,
                payload,
            ]
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        return names, self._signature(ALGORITHM, digest)

    def header(self, method, target, headers, payload):
        """The headers with date, hash and authorization; and the signature, the seed of chunks."""
        headers = {**headers, "x-amz-date": self.stamp, "x-amz-content-sha256": payload}
        names, signature = self._request(method, target, headers, payload)
        headers["authorization"] = (
            f"{ALGORITHM} Credential={self.access}/{self.scope}, SignedHeaders={names}, "
            f"Signature={signature}"
        )
        return headers, signature

    def presigned(self, method, target, host, seconds, headers=None):
        """The target with its signature in the query; further headers given must be sent."""
        headers = {"host": host, **(headers or {})}
        names = ";".join(sorted(name.lower() for name in headers))
        query = [
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", f"{self.access}/{self.scope}"),
            ("X-Amz-Date", self.stamp),
            ("X-Amz-Expires", str(seconds)),
            ("X-Amz-SignedHeaders", names),
        ]
        text = "&".join(f"{quote(name, '')}={quote(value, '')}" for name, value in query)
        target += ("&" if "?" in target else "?") + text
        _, signature = self._request(method, target, headers, UNSIGNED)
        return f"{target}&X-Amz-Signature={signature}"

    def chunk(self, previous, data):
        return self._signature(
            "AWS4-HMAC-SHA256-PAYLOAD", previous, EMPTY, hashlib.sha256(data).hexdigest()
        )

    def trailer(self, previous, text):
        return self._signature(
            "AWS4-HMAC-SHA256-TRAILER", previous, hashlib.sha256(text.encode()).hexdigest()
        )


class Reply:
    """The answer. `broken`: the connection ended before the length that was announced, or, with
    status 0, before an answer began: its head goes out together with the first bytes."""

    def __init__(self, response=None):
        if response is None:
            self.status, self.headers, self.body, self.broken = 0, {}, b"", True
            return
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        pieces = []
        self.broken = False
        try:
            while piece := response.read(1 << 16):
                pieces.append(piece)
        except (http.client.HTTPException, OSError):
            self.broken = True
        self.body = b"".join(pieces)
        announced = self.headers.get("content-length")
        if announced is not None and response._method != "HEAD":
            self.broken |= len(self.body) < int(announced)

    def code(self):
        """The `<Code>` of an error body."""
        text = self.body.decode(errors="replace")
        return text.partition("<Code>")[2].partition("</Code>")[0]

    def __str__(self):
        return f"{self.status} {self.code()} {len(self.body)} bytes{' (broken)' * self.broken}"


class Exchange:
    """One request on a connection of its own, to be sent piece by piece."""

    def __init__(self, port, method, target, headers, timeout=60):
        self.method = method
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        lines = [f"{method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        response = http.client.HTTPResponse(self.socket, method=self.method)
        try:
            response.begin()
            return Reply(response)
        except http.client.RemoteDisconnected:
            return Reply()
        finally:
            self.close()

    def head(self):
        """Status and headers only; the body stays in the socket."""
        response = http.client.HTTPResponse(self.socket, method=self.method)
        response.begin()
        return response

    def close(self):
        self.socket.close()

    def vanish(self):
        """Ends the connection by a reset, as a client that crashed."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


class Wire:
    """Requests to one port by one account."""

    def __init__(self, port, access, secret):
        self.port, self.access, self.secret = port, access, secret
        self.host = f"127.0.0.1:{port}"

    def signer(self, when=None):
        return Signer(self.access, self.secret, when)

    def begin(self, method, target, headers=None, payload=UNSIGNED, signer=None, timeout=60):
        """Sends a signed head; the body is the caller's to send."""
        headers = {"host": self.host, **(headers or {})}
        headers, _ = (signer or self.signer()).header(method, target, headers, payload)
        return Exchange(self.port, method, target, headers, timeout)

    def request(self, method, target, headers=None, body=b"", payload=None, signer=None):
        headers = dict(headers or {})
        if body or method in ("PUT", "POST"):
            headers.setdefault("content-length", str(len(body)))
        if payload is None:
            payload = hashlib.sha256(body).hexdigest()
        exchange = self.begin(method, target, headers, payload, signer)
        return self._finish(exchange, body)

    def bare(self, method, target, headers=None, body=b""):
        """A request as it is given, without a signature of ours."""
        headers = {"host": self.host, **(headers or {})}
        if body or method in ("PUT", "POST"):
            headers.setdefault("content-length", str(len(body)))
        return self._finish(Exchange(self.port, method, target, headers), body)

    @staticmethod
    def _finish(exchange, body):
        try:
            exchange.send(body)
        except OSError:
            pass  # Refused before it was read: the answer says why.
        return exchange.reply()
