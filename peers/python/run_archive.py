"""Reads the vectors of docs/spec/archive.md: run_archive.py VECTOR_DIR"""

import sys

import endseal_archive as archives
import endseal_identity as identities
import vector_run

INPUTS = {
    "backup": ("plaintext", "sender", "root"),
    "link": ("plaintext", "sender", "device", "peer_id", "secret"),
}


def given(vector, name):
    if name in ("root", "device"):
        return identities.public_identity(vector[name])
    return bytes.fromhex(vector[name])


def problem(vector):
    kind = vector["kind"]
    inputs = [given(vector, name) for name in INPUTS[kind]]
    fields = {"comment", "expect", "kind", *INPUTS[kind]}
    outputs, verdict = {}, "ok"
    try:
        if kind == "backup":
            archive = archives.backup(*inputs)
        else:
            archive, outputs["number"] = archives.link(*inputs)
        hub, contacts, rosters, texts = archive.content()
        outputs |= {"time": archive.time, "epoch": archive.record.epoch, "hub": hub}
        outputs |= {"contacts": contacts, "rosters": rosters, "texts": texts}
    except archives.Refused as refused:
        outputs, verdict = {}, refused.kind
    if verdict != vector["expect"]:
        return f"{verdict} instead of {vector['expect']}"
    for name, value in outputs.items():
        if vector[name] != str(value):
            return f"{name} {value} instead of {vector[name]}"
    fields |= outputs.keys()
    return None if vector.keys() == fields else f"fields {sorted(vector.keys() ^ fields)}"


if __name__ == "__main__":
    sys.exit(vector_run.run(sys.argv[1], problem))
