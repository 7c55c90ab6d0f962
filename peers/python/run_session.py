"""Runs the test vectors of docs/spec/session.md: run_session.py VECTOR_DIR

Encodings of Olm are left out; its session is opened.
"""

import json
import sys
from pathlib import Path

import endseal_session as session
import olm_first_chain


def certificate(vector):
    read = session.Certificate(bytes.fromhex(vector["certificate"]))
    names = ("identity", "peer_id", "agreement", "signing", "group")
    keys = {name: getattr(read, name).hex() for name in names}
    return keys | {"device": read.device, "made_at": read.made_at}


def message(vector):
    result = session.message(bytes.fromhex(vector["message"]))
    if "base_key" in vector:
        names = ("identity_key", "base_key", "one_time_key")
        tag = session.tag(*(bytes.fromhex(vector[name]) for name in names))
        if tag.hex() != result["tag"]:
            raise AssertionError(f"the tag of the keys is {tag.hex()}")
    return result


def first(vector):
    raw = {name: bytes.fromhex(vector[name]) for name in vector if name.startswith(("from_i", "to_i"))}
    return session.first(
        bytes.fromhex(vector["certificate"]),
        (raw["from_identity"], vector["from_device"]),
        bytes.fromhex(vector["identity_key"]),
        (raw["to_identity"], vector["to_device"]),
        bytes.fromhex(vector["to_agreement"]),
        bytes.fromhex(vector["plaintext"]),
    )


def olm_session(vector):
    def unhex(name):
        return [bytes.fromhex(part) for part in vector[name].split(",")]

    (agreement,), (one_time,) = unhex("agreement_secret"), unhex("one_time_secret")
    texts = olm_first_chain.open_all(agreement, one_time, unhex("bodies"))
    return {"texts": ",".join(text.hex() for text in texts)}


KINDS = {
    "certificate": certificate,
    "bundle": lambda vector: session.bundle(bytes.fromhex(vector["bundle"])),
    "message": message,
    "first": first,
    "later": lambda vector: session.later(bytes.fromhex(vector["plaintext"])),
    "olm-session": olm_session,
    "safety-number": lambda vector: session.safety_number(
        bytes.fromhex(vector["one"]), bytes.fromhex(vector["other"])
    ),
}


def problem(vector):
    """What is wrong with one vector, or None."""
    try:
        result = KINDS[vector["kind"]](vector)
    except session.SessionError as error:
        if error.kind != vector["expect"]:
            return f"got {error.kind}, expected {vector['expect']}"
        return None
    if vector["expect"] != "ok":
        return f"it is accepted, expected {vector['expect']}"
    for name, value in result.items():
        if vector.get(name) != value:
            return f"{name}: got {value}, expected {vector.get(name)}"
    return None


def main(directory):
    passed = failed = left_out = 0
    for path in sorted(Path(directory).glob("*.json")):
        vector = json.loads(path.read_text())
        if vector["kind"] in ("olm", "olm-prekey"):
            left_out += 1
            continue
        try:
            found = problem(vector)
        except Exception as error:  # a malformed vector, or a defect here
            found = f"{type(error).__name__}: {error}"
        if found is None:
            passed += 1
        else:
            failed += 1
            print(f"{path.name}: {found}")
    if passed + failed == 0:
        print(f"{directory}: no vectors found")
    print(f"{passed} passed, {failed} failed, {left_out} encodings of Olm left out")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: run_session.py VECTOR_DIR")
    sys.exit(main(sys.argv[1]))
