"""Runs the vectors of docs/spec/signer.md: run_signer.py VECTORS"""

import sys

import endseal_signer as signer
import vector_run

GIVEN = {"comment", "expect", "kind", "name", "value", "lines", "head", "start", "noted"}


def chain(vector):
    lines = [tuple(map(bytes.fromhex, line)) for line in vector["lines"]]
    head = None if vector["head"] is None else bytes.fromhex(vector["head"])
    start = None if vector["start"] is None else bytes.fromhex(vector["start"])
    noted = vector["noted"]
    if noted is not None:
        noted = signer.Head(noted[0], bytes.fromhex(noted[1]))
    last = signer.verify(lines, head, start, noted)
    return {"number": last.number, "hash": last.hash.hex()}


def record(vector):
    name, value = bytes.fromhex(vector["name"]), bytes.fromhex(vector["value"])
    return signer.RECORDS[vector["kind"]](name, value)


def problem(vector):
    """None, or the fault of a vector."""
    try:
        found = chain(vector) if vector["kind"] == "chain" else record(vector)
        outcome = "ok"
    except signer.Refused as refused:
        found = {} if refused.at is None else {"at": refused.at}
        outcome = refused.kind
    if outcome != vector["expect"]:
        return f"{outcome}, not {vector['expect']}"
    expected = {field: value for field, value in vector.items() if field not in GIVEN}
    return None if found == expected else f"got {found}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: run_signer.py VECTORS")
    sys.exit(vector_run.run(sys.argv[1], problem))
