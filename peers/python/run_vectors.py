"""Runs the test vectors of docs/spec/envelope.md: run_vectors.py VECTOR_DIR"""

import json
import sys
from pathlib import Path

import endseal_envelope as envelope_format
from blake3 import blake3


class Failure(Exception):
    pass


def require(name, actual, expected):
    if actual != expected:
        shown = [str(v) if len(str(v)) <= 160 else str(v)[:160] + "..." for v in (actual, expected)]
        raise Failure(f"{name}: got {shown[0]}, expected {shown[1]}")


def unhex(value):
    return None if value is None else bytes.fromhex(value)


def byte(value):
    return value if isinstance(value, int) else int(value, 16)


def apply_edits(sealed, edits):
    """Edits apply one after the other, each to the result of those before."""
    data = bytearray(sealed)

    def span(at, length):
        if not 0 <= at <= at + length <= len(data):
            raise Failure(f"edit outside of the envelope: {at}, {length}")
        return slice(at, at + length)

    for edit in edits:
        match edit["op"]:
            case "xor":
                span(edit["at"], 1)
                data[edit["at"]] ^= byte(edit["byte"])
            case "remove":
                del data[span(edit["at"], edit["length"])]
            case "copy":
                piece = data[span(edit["from"], edit["length"])]
                data[span(edit["to"], 0)] = piece
            case "swap":
                a, b = span(edit["a"], edit["length"]), span(edit["b"], edit["length"])
                if a.start < b.stop and b.start < a.stop:
                    raise Failure("swap of overlapping ranges")
                data[a], data[b] = data[b], data[a]
            case op:
                raise Failure(f"unknown edit {op}")
    return bytes(data)


def build(vector, context):
    """The envelope of a `recipe`, with its edits applied."""
    recipe = vector["recipe"]
    recipients = [
        envelope_format.Recipient(envelope_format.ed25519_public(unhex(seed)))
        for seed in recipe["recipients"]
    ]
    sealed = envelope_format.seal(
        recipe.get("suite", envelope_format.X25519),
        recipients,
        context,
        bytes([byte(recipe["content_byte"])]) * recipe["content_length"],
        sender_seed=unhex(recipe["sender_seed"]),
        e=unhex(recipe["e"]),
        key=unhex(recipe["key"]),
        salt=unhex(recipe["salt"]),
        message_id=unhex(recipe["message_id"]),
        time=int(recipe["time"]),
        insider=lambda plaintext: apply_edits(plaintext, recipe.get("plaintext_edits", [])),
    )
    digest = recipe["envelope_blake3"]
    require("envelope_blake3", blake3(sealed).hexdigest(), digest)
    return apply_edits(sealed, recipe["edits"])


def check_opened(name, opened, vector):
    require(f"{name}suite", envelope_format.SUITE_NAMES[opened.suite], vector["suite"])
    require(f"{name}sender", opened.sender.hex(), vector["sender"])
    require(f"{name}message_id", opened.message_id.hex(), vector["message_id"])
    require(f"{name}time", opened.time, int(vector["time"]))
    require(f"{name}content_length", len(opened.content), vector["content_length"])
    require(f"{name}content_blake3", blake3(opened.content).hexdigest(), vector["content_blake3"])
    if "content" in vector:
        require(f"{name}content", opened.content.hex(), vector["content"])
    elif len(opened.content) <= 4096:
        raise Failure(f"{name}content: missing in the vector")


def outcome(envelope, keys):
    try:
        return "ok", envelope_format.open_envelope(envelope, *keys)
    except envelope_format.EnvelopeError as error:
        return error.kind, None


def run(vector):
    expect = vector["expect"]
    if expect not in ("ok", "version", "header", "limit", "authentication"):
        raise Failure(f"unknown class {expect}")
    if ("envelope" in vector) == ("recipe" in vector):
        raise Failure("one of envelope and recipe is required")
    context = unhex(vector["context"])
    keys = unhex(vector["ed25519_seed"]), unhex(vector.get("mlkem768_seed")), context
    envelope = build(vector, context) if "recipe" in vector else unhex(vector["envelope"])
    kind, opened = outcome(envelope, keys)
    require("expect", kind, expect)
    if kind == "ok":
        check_opened("", opened, vector)
        view = envelope_format.view(envelope, envelope_format.find_slot(envelope, *keys))
        kind, opened = outcome(view, keys)
        require("view: expect", kind, "ok")
        check_opened("view: ", opened, vector)


def main(directory):
    passed = failed = 0
    for path in sorted(Path(directory).glob("*.json")):
        try:
            run(json.loads(path.read_text()))
            passed += 1
        except Failure as failure:
            failed += 1
            print(f"{path.name}: {failure}")
        except Exception as error:  # a malformed vector, or a defect here
            failed += 1
            print(f"{path.name}: {type(error).__name__}: {error}")
    if passed + failed == 0:
        print(f"{directory}: no vectors found")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: run_vectors.py VECTOR_DIR")
    sys.exit(main(sys.argv[1]))
