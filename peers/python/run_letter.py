"""Reads the vectors of docs/spec/letter.md: run_letter.py VECTOR_DIR"""

import sys

import endseal_letter as letter
import endseal_node as node
import vector_run
from endseal.v1 import message_pb2
from run_node import message, written

INPUTS = ("payload", "slot", "roster", "device", "user_ed25519_seed", "user_mlkem768_seed")
OUTPUTS = ("identity", "number", "group", "epoch", "id", "content")


def problem(vector):
    payload, *inputs = (bytes.fromhex(vector[name]) for name in INPUTS)
    fields = {"comment", "expect", *INPUTS}
    try:
        sealed = message(message_pb2.SealedMessage, payload, "form")
        outputs, verdict = letter.opened(sealed, *inputs), "ok"
    except node.Refused as refused:
        outputs, verdict = (), refused.kind
    if verdict != vector["expect"]:
        return f"{verdict} instead of {vector['expect']}"
    for name, value in zip(OUTPUTS, outputs):
        fields.add(name)
        if vector[name] != written(value):
            return f"{name} {written(value)} instead of {vector[name]}"
    return None if vector.keys() == fields else f"fields {sorted(vector.keys() ^ fields)}"


if __name__ == "__main__":
    sys.exit(vector_run.run(sys.argv[1], problem))
