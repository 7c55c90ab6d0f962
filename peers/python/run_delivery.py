"""Reads the vectors of docs/spec/delivery.md: run_delivery.py VECTOR_DIR

The messages are read with Google's library and code that protoc generates from the contract.
"""

import sys

import endseal_delivery as delivery
import vector_run
from endseal.v1 import hub_pb2
from google.protobuf.message import DecodeError

FIRST = ("hello", "register", "put", "subscribe", "find", "publish", "take", "recover")


def message(kind, vector, fault):
    """The member of a request or an answer, by name and value."""
    encoded = bytes.fromhex(vector["bytes"])
    try:
        decoded = kind.FromString(encoded)
    except DecodeError:
        raise delivery.Refused(fault) from None
    name = decoded.WhichOneof("request" if kind is hub_pb2.HubRequest else "answer")
    # Google's library takes the last of two members, and then writes one.
    delivery.check(name is not None and decoded.SerializeToString() == encoded, fault)
    return name, getattr(decoded, name)


def request(vector):
    name, value = message(hub_pb2.HubRequest, vector, "request")
    delivery.check(name in FIRST, "request")
    if name == "put":
        peer = bytes.fromhex(vector["peer"])
        delivery.vouched(value.frame, peer)
        if value.HasField("conversation"):
            delivery.group_put(value, peer)
        else:
            delivery.targets(value.targets)
    return {"member": name}


def found(vector):
    """The outputs of a vector, by their names."""
    kind = vector["kind"]
    if kind == "request":
        return request(vector)
    if kind == "answer":
        return {"member": message(hub_pb2.HubAnswer, vector, "answer")[0]}
    if kind == "targets":
        delivery.targets(bytes.fromhex(vector["targets"]))
        return {}
    if kind == "members":
        return {"digest": delivery.members_digest(bytes.fromhex(vector["members"])).hex()}
    if kind == "id":
        sender, sequence = bytes.fromhex(vector["sender"]), int(vector["sequence"])
        return {"id": delivery.message_id(sender, sequence).hex()}
    if kind == "window":
        delivery.window([int(number) for number in vector["sequences"].split()])
        return {}
    if kind == "recovery":
        names = ("identity", "hub", "peer", "signature")
        delivery.recovery(*(bytes.fromhex(vector[name]) for name in names))
        return {}
    if kind == "address":
        time, addresses = delivery.address_note(
            bytes.fromhex(vector["bytes"]), bytes.fromhex(vector["hub"])
        )
        return {"time": str(time), "addresses": addresses}
    if kind == "position":
        return {"next": str(delivery.position_after(int(vector["last"]), int(vector["now"])))}
    raise ValueError(f"kind {kind}")


def problem(vector):
    try:
        outputs, verdict = found(vector), "ok"
    except delivery.Refused as refused:
        outputs, verdict = {}, refused.kind
    if verdict != vector["expect"]:
        return f"{verdict} instead of {vector['expect']}"
    for name, value in outputs.items():
        if vector[name] != value:
            return f"{name} {value} instead of {vector[name]}"
    return None


if __name__ == "__main__":
    sys.exit(vector_run.run(sys.argv[1], problem))
