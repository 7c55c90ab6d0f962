"""Sealed objects as the server has them, to be altered behind the proxy's back."""

from content import CHUNK, SEALED_CHUNK, same

HEADER = "endseal"
SEALED_METADATA = "endseal-m"


class Sealed:
    """Body and metadata of one object."""

    def __init__(self, world, bucket, key):
        got = world.back.get_object(Bucket=bucket, Key=key)
        self.world = world
        self.body = got["Body"].read()
        self.metadata = got["Metadata"]

    def put(self, bucket, key, body=None, metadata=None):
        self.world.back.put_object(
            Bucket=bucket,
            Key=key,
            Body=self.body if body is None else body,
            Metadata=self.metadata if metadata is None else metadata,
        )


def part_length(plaintext):
    """Salt and chunks of a part."""
    return 24 + plaintext + 16 * (plaintext // CHUNK + 1)


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def must_fail(world, bucket, key, plaintext, safe, what, headers=None, start=0):
    """Reads a damaged object. At most `safe` bytes of the plaintext from `start` may come, and the
    answer must not look whole: an error, or a connection that ends before the announced length."""
    reply = world.wire.request("GET", f"/{bucket}/{key}", headers)
    if reply.status >= 400:
        if plaintext[:64] and plaintext[start : start + 64] in reply.body:
            raise AssertionError(f"{what}: the error shows plaintext")
        return reply
    if not reply.broken:
        raise AssertionError(f"{what}: answered {reply}, which looks whole")
    if len(reply.body) > safe:
        raise AssertionError(f"{what}: {len(reply.body)} bytes came, {safe} are authentic")
    same(reply.body, plaintext[start : start + len(reply.body)], f"{what}: what came before")
    return reply


def safe_before(position):
    """Returns the bytes of a whole object's plaintext in the chunks before that of a sealed position."""
    return position // SEALED_CHUNK * CHUNK
