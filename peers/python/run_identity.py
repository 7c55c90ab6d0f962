"""Runs the vectors of docs/spec/identity.md and docs/spec/roster.md: run_identity.py VECTORS

VECTORS is the directory that holds `identity` and `roster`.
"""

import json
import sys
from pathlib import Path

import endseal_identity as identity
import endseal_roster as rosters
from blake3 import blake3


def seeds(pair):
    return {"ed25519_seed": pair[0].hex(), "mlkem768_seed": pair[1].hex()}


def public_text(vector):
    public = identity.public_identity(vector["input"])
    assert public.text() == vector["input"], "another text"
    values = {"ed25519": public.ed25519.hex()}
    if public.mlkem768 is not None:
        values["mlkem768_blake3"] = blake3(public.mlkem768).hexdigest()
    return values


def secret_text(vector):
    pair = identity.secret(vector["input"])
    return seeds(pair) | {"store_key": identity.store_key(*pair).hex()}


def identity_file(vector):
    root, pair = identity.identity_file(vector["input"], vector.get("passphrase"))
    return seeds(pair) | ({"root_seed": root.hex()} if root else {})


def paper(vector):
    root = identity.paper(vector["input"])
    values = {"root_seed": root.hex(), "output": identity.paper_text(root)}
    return seeds(identity.seeds_of_root(root)) | values


def invitation(vector):
    hub, token, addresses, inviter = identity.invitation(vector["input"])
    values = {"hub": hub.hex(), "token": token.hex(), "addresses": addresses}
    if inviter:
        values |= {"name": inviter[0], "identity": inviter[1].hex()}
    return values


def link(vector):
    secret, device, peer, agreement, signing, group, number = identity.link(vector["input"])
    keys = {"peer_id": peer, "agreement": agreement, "signing": signing, "group": group}
    values = {name: key.hex() for name, key in keys.items()}
    return values | {"secret": secret.hex(), "ed25519": device.ed25519.hex(), "number": number}


def peer_id(vector):
    found = identity.peer_id(vector["input"])
    pair = bytes.fromhex(vector["ed25519_seed"]), bytes.fromhex(vector["mlkem768_seed"])
    seed = identity.mldsa65_seed(*pair)
    spki = identity.spki(seed)
    assert found == identity.derive("endseal/peer@v1 id", spki), "another id"
    values = {"peer_id": found.hex(), "mldsa65_seed": seed.hex(), "spki": spki.hex()}
    return seeds(pair) | values


def roster(vector):
    new = rosters.roster(vector["roster"])
    if "previous" in vector:
        rosters.follows(new, rosters.roster(vector["previous"]))
    values = {"group": new.group, "epoch": new.epoch, "members": new.members}
    values["admins"] = " ".join(admin.name for admin in new.admins)
    for field in ("id", "owner", "signing_owner", "signer", "sealed_epoch_key", "context"):
        values[field] = getattr(new, field).hex()
    return values | {"digest": new.digest().hex()}


def person(vector):
    record, devices = rosters.person(vector["roster"])
    if "previous" in vector:
        rosters.person_follows((record, devices), rosters.person(vector["previous"]))
    return {
        "id": record.id.hex(),
        "epoch": record.epoch,
        "devices": {str(number): device.ed25519.hex() for number, device in devices.items()},
        "root": record.owner.hex(),
        "digest": record.digest().hex(),
    }


KINDS = {
    "public-text": public_text,
    "secret-text": secret_text,
    "paper": paper,
    "identity-file": identity_file,
    "peer-id": peer_id,
    "invitation": invitation,
    "link": link,
    "contacts": lambda vector: {"output": identity.contacts(vector["input"])},
    "peers": lambda vector: {"output": identity.peers(vector["input"])},
    "roster": roster,
    "person": person,
}
GIVEN = {"comment", "expect", "kind", "input", "passphrase", "roster", "previous"}


def run(vector):
    """None, or what is wrong."""
    try:
        values = KINDS[vector.get("kind", "roster")](vector)
    except identity.IdentityError as error:
        return None if error.kind == vector["expect"] else f"{error.kind}, not {vector['expect']}"
    if vector["expect"] != "ok":
        return f"ok, not {vector['expect']}"
    expected = {field: value for field, value in vector.items() if field not in GIVEN}
    return None if values == expected else f"got {values}"


def main(directory):
    failed = False
    for name in ("identity", "roster"):
        paths = sorted(Path(directory, name).glob("*.json"))
        wrong = 0
        for path in paths:
            try:
                problem = run(json.loads(path.read_text()))
            except Exception as error:  # a malformed vector, or a defect here
                problem = f"{type(error).__name__}: {error}"
            if problem:
                wrong += 1
                print(f"{path.name}: {problem}")
        print(f"{name}: {len(paths) - wrong} passed, {wrong} failed")
        failed |= wrong > 0 or not paths
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: run_identity.py VECTORS")
    sys.exit(main(sys.argv[1]))
