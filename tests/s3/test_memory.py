"""Peak memory of the proxy's process (VmHWM): the same for 10 MB as for a big object."""

import hashlib

import pytest

from content import GIB, MIB, Stream, equal
from wire import quote

SMALL = 10_000_000
# Difference between runs that an allocator may cause.
SLACK = 4 * MIB


def sent(http, target, pieces, length):
    """Sends a body as it is made. The entity tag."""
    exchange = http.begin("PUT", target, {"content-length": str(length)}, timeout=600)
    for piece in pieces:
        exchange.send(piece)
    reply = exchange.reply()
    equal(reply.status, 200, f"status of PUT ({reply})")
    return reply.headers["etag"]


def received(http, target):
    """Reads a body that is not kept: its length and hash."""
    exchange = http.begin("GET", target, timeout=600)
    response = exchange.head()
    equal(response.status, 200, "status of GET")
    state, length = hashlib.sha256(), 0
    while piece := response.read(MIB):
        state.update(piece)
        length += len(piece)
    exchange.close()
    return length, state.hexdigest()


def up_and_down(world, length, part=None):
    """A fresh process, one object up and down; the peaks after each."""
    front = world.another_proxy()
    http, s3 = world.wire_to(front), world.client(front.url)
    bucket = world.bucket("memory")
    stream = Stream(length)
    if part is None:
        sent(http, f"/{bucket}/k", stream, length)
    else:
        upload_id = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
        pieces, parts = iter(stream), []
        for number, begin in enumerate(range(0, length, part), 1):
            size = min(part, length - begin)
            some = (next(pieces) for _ in range(-(-size // MIB)))
            target = f"/{bucket}/k?partNumber={number}&uploadId={quote(upload_id, '')}"
            parts.append({"PartNumber": number, "ETag": sent(http, target, some, size)})
        s3.complete_multipart_upload(
            Bucket=bucket, Key="k", UploadId=upload_id, MultipartUpload={"Parts": parts}
        )
    after_upload = front.peak_memory()
    equal(received(http, f"/{bucket}/k"), (length, stream.sha256()), "length and hash")
    after_download = front.peak_memory()
    s3.delete_object(Bucket=bucket, Key="k")
    front.stop()
    return after_upload, after_download


def constant(world, part):
    big = 5_000_000_000 if world.full else GIB
    small_peaks = up_and_down(world, SMALL, part)
    big_peaks = up_and_down(world, big, part)
    text = "MiB up and down: " + ", ".join(
        f"{length / 1e6:.0f} MB {up / MIB:.1f} {down / MIB:.1f}"
        for length, (up, down) in ((SMALL, small_peaks), (big, big_peaks))
    )
    print(f"    peak memory, {'parts of %d MiB' % (part // MIB) if part else 'whole'}, {text}")
    for small, large in zip(small_peaks, big_peaks):
        assert large <= small + SLACK, text


@pytest.mark.needs_proxy
@pytest.mark.slow
def test_of_a_whole_object_does_not_grow(world):
    constant(world, None)


@pytest.mark.needs_proxy
@pytest.mark.slow
def test_of_parts_does_not_grow(world):
    constant(world, 64 * MIB)


@pytest.mark.needs_direct
@pytest.mark.slow
def test_a_long_object_goes_up_and_down(world):
    """The control of the streams above."""
    bucket = world.bucket("memory")
    stream = Stream(GIB // 4)
    sent(world.wire, f"/{bucket}/k", stream, stream.length)
    equal(received(world.wire, f"/{bucket}/k"), (stream.length, stream.sha256()), "hash")
