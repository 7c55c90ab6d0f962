"""Reads the vectors of docs/spec/conversation.md: run_conversation.py VECTOR_DIR"""

import sys

import endseal_conversation as conversation
import vector_run


NOTE = ("note", "exported", "to", "signer")
INPUTS = {"state": ("state",), "evidence": ("evidence",), "change": ("state", "committer", "evidence")}
INPUTS["note"] = NOTE


def outputs(vector):
    kind = vector["kind"]
    if kind == "note":
        inputs = (bytes.fromhex(vector[name]) for name in NOTE)
        group, epoch, sender, text = conversation.note(*inputs)
        found = {"group": group.hex(), "epoch": str(epoch), "from": sender.hex(), "text": text.hex()}
        return found | {name: vector[name] for name in NOTE}
    if kind == "evidence":
        conversation.evidence(bytes.fromhex(vector["evidence"]))
        return {"evidence": vector["evidence"]}
    state = conversation.state(bytes.fromhex(vector["state"]))
    assert state.encoded().hex() == vector["state"]
    if kind == "state":
        devices = " ".join(device.hex() for device in state.devices())
        return {"state": vector["state"], "digest": state.digest().hex(), "devices": devices}
    assert kind == "change", kind
    documents = conversation.evidence(bytes.fromhex(vector["evidence"]))
    after = conversation.after(state, documents, bytes.fromhex(vector["committer"]))
    inputs = {name: vector[name] for name in INPUTS["change"]}
    return {**inputs, "after": after.encoded().hex()}


def problem(vector):
    try:
        found, verdict = outputs(vector), "ok"
    except conversation.Refused as refused:
        verdict = refused.args[0]
        found = {name: vector[name] for name in INPUTS[vector["kind"]]}
    if verdict != vector["expect"]:
        return f"{verdict} instead of {vector['expect']}"
    found |= {name: vector[name] for name in ("comment", "expect", "kind")}
    return None if found == vector else f"{sorted(found.items() ^ vector.items())}"[:300]


if __name__ == "__main__":
    sys.exit(vector_run.run(sys.argv[1], problem))
