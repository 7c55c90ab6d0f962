"""The vectors of docs/spec/envelope.md, in memory and as streams."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import endseal
import pytest

VECTORS = Path(__file__).parents[3] / "vectors" / "envelope"
# Envelopes of the vectors that are recipes, which the tests of endseal-envelope write.
COOKED = os.environ.get("ENDSEAL_ENVELOPES")


def envelope_of(file: Path, test: dict[str, Any]) -> bytes:
    if "recipe" not in test:
        return bytes.fromhex(test["envelope"])
    assert COOKED
    return (Path(COOKED) / f"{file.stem}.es").read_bytes()


@pytest.mark.skipif(
    not hasattr(endseal.Identity, "_from_seeds"), reason="not a build for the vectors"
)
def test_every_vector() -> None:
    opened, refused = 0, 0
    for file in sorted(VECTORS.glob("*.json")):
        test = json.loads(file.read_text())
        context = bytes.fromhex(test["context"])
        kem = bytes.fromhex(test["mlkem768_seed"]) if "mlkem768_seed" in test else b"\xee" * 64
        identity = endseal.Identity._from_seeds(bytes.fromhex(test["ed25519_seed"]), kem)  # type: ignore[attr-defined]
        envelope = envelope_of(file, test)
        results = []
        for way in (whole, many, stream):
            try:
                results.append(way(envelope, identity, context))
            except endseal.EndsealError as error:
                results.append(error.code)
        if test["expect"] != "ok":
            assert results == [test["expect"]] * 3, (file.name, results)
            refused += 1
            continue
        first = results[0]
        assert results == [first] * 3, file.name
        suite, sender, message_id, time, content = first
        assert suite == test["suite"] and message_id.hex() == test["message_id"], file.name
        assert sender.hex() == test["sender"], file.name
        assert (int(time.timestamp() * 1_000 + 0.5) if time else 0) == test["time"], file.name
        assert len(content) == test["content_length"], file.name
        if "content" in test:
            assert content.hex() == test["content"], file.name
        opened += 1
    print(f"{opened + refused} vectors: {opened} opened, {refused} refused")
    assert (opened, refused) == (28, 69)


def facts(opened: Any, content: bytes) -> tuple[Any, ...]:
    return opened.suite, opened.sender.key, opened.message_id, opened.time, content


def whole(envelope: bytes, identity: endseal.Identity, context: bytes) -> tuple[Any, ...]:
    opened = endseal.open(envelope, identity=identity, context=context)
    return facts(opened, opened.content)


def many(envelope: bytes, identity: endseal.Identity, context: bytes) -> tuple[Any, ...]:
    (result,) = endseal.open_many([envelope], identity=identity, context=context)
    if isinstance(result, endseal.EndsealError):
        raise result
    return facts(result, result.content)


def stream(envelope: bytes, identity: endseal.Identity, context: bytes) -> tuple[Any, ...]:
    reader = endseal.open_stream(io.BytesIO(envelope), identity=identity, context=context)
    content = reader.read()
    assert content is not None
    return facts(reader, content)
