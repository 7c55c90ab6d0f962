"""Writes the vectors of envelopes for vectors.c: a line each, and a file with the envelope."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
VECTORS = HERE.parents[2] / "vectors" / "envelope"


def main(recipes, folder):
    for file in sorted(VECTORS.glob("*.json")):
        test = json.loads(file.read_text())
        if "recipe" in test:
            envelope = (recipes / f"{file.stem}.es").read_bytes()
        else:
            envelope = bytes.fromhex(test["envelope"])
        path = folder / file.stem
        path.write_bytes(envelope)
        row = [test["expect"], path, test["context"] or "-", test["ed25519_seed"], test.get("mlkem768_seed", "ee" * 64)]
        if test["expect"] == "ok":
            row += [test["suite"], test["sender"], test["message_id"], test["time"], test["content_length"]]
            row += [test.get("content", "") or "-"]
        print(*row)


main(Path(sys.argv[1]), Path(sys.argv[2]))
