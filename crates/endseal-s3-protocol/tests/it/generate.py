#!/usr/bin/env python3
"""Writes botocore.json: requests signed by botocore, which shares no code with this crate.

Run by hand with botocore installed; nothing is sent. Chunk signatures, which botocore does not make,
are computed here with hashlib alone, over a seed signature by botocore.
"""

import base64
import datetime
import hashlib
import hmac
import io
import json
import pathlib
import uuid
from urllib.parse import urlsplit

import botocore
import botocore.auth
import botocore.session
import botocore.signers
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials

NOW = datetime.datetime(2026, 2, 28, 23, 59, 58)
ACCESS, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
KEYS = [
    "plain.txt", "a b", "a+b", "a%20b", "a%2Fb", "dir/sub//x", "./dots/../x", "..", "ü/é/日本語",
    "emoji-😀", "tilde~_-.", "(paren)'!*", "semi;colon,comma=equals&amp", "hash#quest?x", "@:$[]",
    " lead and trail ", "quote\"back\\slash", "<tag>", "new\nline", "tab\there", "{brace}|pipe^`",
    "a" * 200,
]

botocore.auth.get_current_datetime = lambda *_, **__: NOW
botocore.signers.get_current_datetime = botocore.auth.get_current_datetime
uuid.uuid4 = lambda: uuid.UUID(int=4)
cases = []


def host_of(url):
    return urlsplit(url).netloc


def add(kind, name, method, url, headers, body=b"", **more):
    parts = urlsplit(url)
    target = parts.path + ("?" + parts.query if parts.query else "")
    sent = [["host", host_of(url)]]
    for key, value in headers:
        value = value.decode("utf-8") if isinstance(value, bytes) else str(value)
        if key.lower() not in ("host", "content-length", "user-agent") and key[:8] != "amz-sdk-":
            sent.append([key, value])
    case = {"kind": kind, "name": name, "method": method, "target": target, "headers": sent}
    if body:
        case["body"] = base64.b64encode(body).decode()
    case.update(more)
    cases.append(case)


class Recorder:
    """A client whose requests are kept and not sent."""

    def __init__(self, endpoint, region, style, **options):
        session = botocore.session.Session()
        # Without the version, botocore presigns by Version 2.
        config = Config(signature_version="s3v4", s3={"addressing_style": style, **options},
                        retries={"total_max_attempts": 1})
        self.client = session.create_client(
            "s3", region_name=region, endpoint_url=endpoint, aws_access_key_id=ACCESS,
            aws_secret_access_key=SECRET, config=config,
        )
        self.client.meta.events.register("before-send.s3", self.keep)
        self.last = None

    def keep(self, request, **_):
        self.last = request
        body = io.BytesIO(b"")
        body.stream = lambda *_, **__: iter([])
        return AWSResponse(request.url, 200, {}, body)

    def call(self, operation, expected=None, **arguments):
        self.last = None
        try:
            getattr(self.client, operation)(**arguments)
        except Exception as error:  # An empty answer cannot be parsed; the request is what counts.
            if self.last is None:
                raise error
        request = self.last
        body = request.body or b""
        body = body.read() if hasattr(body, "read") else body
        body = body.encode() if isinstance(body, str) else body
        name = f"{operation} {arguments.get('Key', '')[:24]}"
        more = {"content": base64.b64encode(expected).decode()} if expected is not None else {}
        add("header", name, request.method, request.url, request.headers.items(), body, **more)

    def presign(self, operation, expires, **arguments):
        url = self.client.generate_presigned_url(operation, Params=arguments, ExpiresIn=expires)
        method = {"get_object": "GET", "put_object": "PUT", "head_object": "HEAD"}.get(operation, "GET")
        headers = []
        if "ContentType" in arguments:
            headers.append(["content-type", arguments["ContentType"]])
        for key, value in arguments.get("Metadata", {}).items():
            headers.append([f"x-amz-meta-{key}", value])
        add("presigned", f"{operation} {arguments.get('Key', '')[:24]}", method, url, headers,
            expires=expires)


def operations():
    plain = Recorder("http://127.0.0.1:9000", "us-east-1", "path")
    tls = Recorder("https://s3.example.com", "eu-central-1", "path")
    virtual = Recorder("https://s3.example.com:8443", "us-west-2", "virtual")
    unsigned = Recorder("https://s3.example.com", "us-east-1", "path", payload_signing_enabled=False)
    for key in KEYS:
        plain.call("get_object", Bucket="bucket", Key=key)
        plain.call("put_object", b"0123456789", Bucket="bucket", Key=key, Body=b"0123456789")
        virtual.call("head_object", Bucket="bucket", Key=key, VersionId="a/b+c=d")
        tls.call("put_object", b"content", Bucket="bucket", Key=key, Body=io.BytesIO(b"content"))
        virtual.call("copy_object", Bucket="bucket", Key="copy", CopySource={"Bucket": "b", "Key": key})
        plain.call("list_objects_v2", Bucket="bucket", Prefix=key, Delimiter="/", StartAfter=key)
        virtual.call("list_objects", Bucket="bucket", Marker=key, EncodingType="url")
    for algorithm in ["CRC32", "SHA1", "SHA256"]:
        for size in [0, 1, 3_000]:
            body = bytes(i * 7 % 251 for i in range(size)) if size < 2000 else b"x" * size
            if size == 3_000 and algorithm != "CRC32":
                continue
            tls.call("put_object", body, Bucket="bucket", Key="k", Body=io.BytesIO(body),
                     ChecksumAlgorithm=algorithm)
            if size < 2000:
                plain.call("put_object", body, Bucket="bucket", Key="k", Body=body,
                           ChecksumAlgorithm=algorithm)
                unsigned.call("upload_part", body, Bucket="bucket", Key="k", PartNumber=3,
                              UploadId="u+/=", Body=body, ChecksumAlgorithm=algorithm)
    for recorder in [plain, tls, virtual]:
        recorder.call("list_buckets")
        recorder.call("create_bucket", Bucket="bucket")
        recorder.call("get_bucket_location", Bucket="bucket")
        recorder.call("list_object_versions", Bucket="bucket", KeyMarker="ü +", VersionIdMarker="v/1")
        recorder.call("list_multipart_uploads", Bucket="bucket", Prefix="a b")
        recorder.call("create_multipart_upload", Bucket="bucket", Key="k", ContentType="text/plain",
                      Metadata={"one": "1", "spaces": "a  b   c", "umlaut": "value"})
        recorder.call("list_parts", Bucket="bucket", Key="k", UploadId="u", PartNumberMarker=7)
        recorder.call("complete_multipart_upload", Bucket="bucket", Key="k", UploadId="u",
                      MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": '"e"'}]})
        recorder.call("abort_multipart_upload", Bucket="bucket", Key="k", UploadId="u")
        recorder.call("upload_part_copy", Bucket="bucket", Key="k", UploadId="u", PartNumber=2,
                      CopySource="b/ü k", CopySourceRange="bytes=0-9")
        recorder.call("delete_objects", Bucket="bucket", Delete={"Objects": [{"Key": "a&b"}]})
        recorder.call("put_object_tagging", Bucket="bucket", Key="k",
                      Tagging={"TagSet": [{"Key": "a", "Value": "b c"}]})
        recorder.call("get_object_attributes", Bucket="bucket", Key="k",
                      ObjectAttributes=["ETag", "ObjectParts", "ObjectSize"])
        recorder.call("get_object", Bucket="bucket", Key="k", Range="bytes=1-2", IfNoneMatch='"e"',
                      ResponseContentDisposition="attachment; filename=\"a b.txt\"", PartNumber=1)
        recorder.call("put_object", b"", Bucket="bucket", Key="k", Tagging="a=b&c=d%20e",
                      StorageClass="STANDARD", SSECustomerAlgorithm="AES256", SSECustomerKey="0" * 32)
        for key in KEYS:
            recorder.presign("get_object", 3600, Bucket="bucket", Key=key)
        recorder.presign("put_object", 604800, Bucket="bucket", Key="k", ContentType="text/x; a=b",
                         Metadata={"one": "two  three"})
        recorder.presign("get_object", 1, Bucket="bucket", Key="k", VersionId="v+/=",
                         ResponseContentType="text/plain; charset=utf-8")
        recorder.presign("list_objects_v2", 60, Bucket="bucket", Prefix="a b/ü+", Delimiter="/")


class Streaming(S3SigV4Auth):
    """Signs a request whose content is to be signed in chunks."""

    def __init__(self, word, *arguments):
        super().__init__(*arguments)
        self.word = word

    def payload(self, _request):
        return self.word


def chunked(name, content, size, trailers, region):
    word = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + ("-TRAILER" if trailers else "")
    url = "http://127.0.0.1:9000/bucket/" + name
    headers = {"content-encoding": "aws-chunked", "x-amz-decoded-content-length": str(len(content))}
    if trailers:
        headers["x-amz-trailer"] = ",".join(trailers)
    request = AWSRequest(method="PUT", url=url, headers=headers)
    auth = Streaming(word, Credentials(ACCESS, SECRET), "s3", region)
    auth.add_auth(request)
    last = request.headers["Authorization"].rsplit("=", 1)[1]
    stamp = NOW.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()

    def sign(algorithm, *lines):
        text = "\n".join([algorithm, stamp, scope, last, *lines])
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

    body = b""
    empty = hashlib.sha256(b"").hexdigest()
    pieces = [content[i:i + size] for i in range(0, len(content), size)] + [b""]
    for piece in pieces:
        last = sign("AWS4-HMAC-SHA256-PAYLOAD", empty, hashlib.sha256(piece).hexdigest())
        body += f"{len(piece):x};chunk-signature={last}\r\n".encode() + piece
        if piece or not trailers:
            body += b"\r\n"
    if trailers:
        text = "".join(f"{name}:{value}\n" for name, value in trailers.items())
        last = sign("AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(text.encode()).hexdigest())
        body += text.replace("\n", "\r\n").encode()
        body += f"x-amz-trailer-signature:{last}\r\n\r\n".encode()
    add("header", "chunked " + name, "PUT", url, request.headers.items(), body,
        content=base64.b64encode(content).decode())


def chunks():
    for size in [1, 64, 8192]:
        for length in [0, 1, 63, 64, 65, 200]:
            content = bytes((i * i) % 256 for i in range(length))
            chunked(f"s{size}-{length}", content, size, {}, "us-east-1")
            sha = base64.b64encode(hashlib.sha256(content).digest()).decode()
            chunked(f"t{size}-{length}", content, size, {"x-amz-checksum-sha256": sha}, "eu-west-3")


def forms():
    for key in ["plain", "user/ü x", "${filename}"]:
        for conditions in [[], [["content-length-range", 1, 1000]], [["starts-with", "$acl", "pub"]]]:
            recorder = Recorder("http://127.0.0.1:9000", "us-east-1", "path")
            fields = {"acl": "public-read"} if conditions and conditions[0][1] == "$acl" else {}
            form = recorder.client.generate_presigned_post(
                "bucket", key, Fields=fields, Conditions=conditions, ExpiresIn=600)
            cases.append({"kind": "form", "name": f"form {key}", "fields": sorted(form["fields"].items())})


def odd():
    """Requests that no client of botocore makes, but its signer signs."""
    credentials = Credentials(ACCESS, SECRET)
    base = "http://bucket.s3.example.com"
    for target in ["/", "//", "/a%2Fb", "/a+b", "/~%7e", "/%e1%88%b4", "/a?acl", "/a?acl=",
                   "/a?b=2&a=1&a=0", "/a?x=%20&y=+", "/a?a-=1&a=2", "/a?prefix=a%2Fb&marker=%2b"]:
        for headers in [{}, {"x-amz-meta-a": "  two   blanks\tand tab "}, {"Date": "now"}]:
            request = AWSRequest(method="GET", url=base + target, headers=headers)
            S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(request)
            add("header", "odd " + target, "GET", request.url, request.headers.items())
    repeated = AWSRequest(method="GET", url=base + "/a")
    repeated.headers["x-amz-meta-b"] = "1"
    repeated.headers.add_header("x-amz-meta-b", " 2 ")
    S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(repeated)
    add("header", "odd repeated header", "GET", repeated.url, repeated.headers.items())
    for expires in [0, 604800]:
        request = AWSRequest(method="DELETE", url=base + "/a%2Fb?versionId=1")
        S3SigV4QueryAuth(credentials, "s3", "us-east-1", expires=expires).add_auth(request)
        add("presigned", "odd presigned", "DELETE", request.url, [], expires=expires)


operations()
chunks()
forms()
odd()
head = {"comment": "Written by generate.py.", "botocore": botocore.__version__,
        "now": int(NOW.replace(tzinfo=datetime.timezone.utc).timestamp()),
        "access-key": ACCESS, "secret-key": SECRET}
lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in cases)
text = json.dumps(head, indent=0)[:-2] + ',\n"cases": [\n' + lines + "\n]\n}\n"
pathlib.Path(__file__).with_name("botocore.json").write_text(text)
print(len(cases), "cases,", len(text), "bytes")
