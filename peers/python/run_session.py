"""Runs the test vectors of docs/spec/session.md: run_session.py VECTOR_DIR

Encodings of Olm are left out; its session is opened.
"""

import sys

import endseal_session as session
import olm_first_chain
from vector_run import run


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
    """Returns a description of the error of one vector, or None."""
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


def is_olm(vector):
    return vector["kind"] in ("olm", "olm-prekey")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: run_session.py VECTOR_DIR")
    sys.exit(run(sys.argv[1], problem, (is_olm, "encodings of Olm")))
