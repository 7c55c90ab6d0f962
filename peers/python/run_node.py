"""Reads the vectors of docs/spec/node.md: run_node.py VECTOR_DIR

The messages are read with Google's library and code that protoc generates from the contract.
"""

import sys

import endseal_node as node
import vector_run
from endseal.v1 import message_pb2
from google.protobuf.message import DecodeError

INPUTS = {
    "payload": ("bytes",),
    "text": ("bytes", "sender", "receiver"),
    "receipt": ("bytes", "sender", "receiver"),
    "read-mark": ("bytes", "sender", "receiver"),
    "rules": ("bytes", "sender"),
    "hub": ("name", "value"),
    "history": ("name", "value"),
    "problem": ("name", "value"),
}
OUTPUTS = {
    "payload": ("content", "group", "body"),
    "text": ("text", "time"),
    "receipt": ("series", "runs"),
    "read-mark": ("series", "runs"),
    "rules": ("rules",),
    "hub": ("peer", "sequence", "time", "addresses"),
    "history": ("number", "direction", "identity", "device", "time", "plaintext"),
    "problem": ("number", "time", "position", "peer", "class"),
}


def message(kind, encoded, fault):
    try:
        decoded = kind.FromString(encoded)
    except DecodeError:
        raise node.Refused(fault) from None
    node.check_encoding(kind.DESCRIPTOR, encoded, fault)
    return decoded


def read(kind, inputs):
    if kind == "payload":
        return node.payload(message(message_pb2.SealedMessage, *inputs, "frame"))
    if kind == "rules":
        encoded, person = inputs
        return node.rules(message(message_pb2.Message, encoded, kind), person)
    if kind in ("text", "receipt", "read-mark"):
        encoded, sender, receiver = inputs
        reader = {"text": node.text, "receipt": node.receipt, "read-mark": node.read_mark}[kind]
        fault = "text" if kind == "text" else "receipt"
        return reader(message(message_pb2.Message, encoded, fault), sender, receiver)
    return {"hub": node.hub, "history": node.history, "problem": node.problem}[kind](*inputs)


def written(value):
    """A value as vectors have it."""
    return value.hex() if isinstance(value, bytes) else str(value)


def problem(vector):
    kind = vector["kind"]
    inputs = [bytes.fromhex(vector[name]) for name in INPUTS[kind]]
    fields = {"comment", "expect", "kind", *INPUTS[kind]}
    try:
        outputs, verdict = read(kind, inputs), "ok"
    except node.Refused as refused:
        outputs, verdict = (), refused.kind
    if verdict != vector["expect"]:
        return f"{verdict} instead of {vector['expect']}"
    for name, value in zip(OUTPUTS[kind], outputs):
        fields.add(name)
        if vector[name] != written(value):
            return f"{name} {written(value)} instead of {vector[name]}"
    return None if vector.keys() == fields else f"fields {sorted(vector.keys() ^ fields)}"


if __name__ == "__main__":
    sys.exit(vector_run.run(sys.argv[1], problem))
