"""Reads the vectors of docs/spec/codec.md with Google's library: run_codec.py VECTOR_DIR

Every success is decoded and compared with its JSON value; what the library makes of the value is
decoded again, and compared byte for byte where the vector is canonical.  Refusals are counted: a
library that merges repeated fields accepts some of them.
"""

import json
import sys
from pathlib import Path

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from endseal.v1 import message_pb2


def main(folder):
    paths = sorted(Path(folder).glob("*.json"))
    wrong = successes = identical = refused = failures = 0
    for path in paths:
        vector = json.loads(path.read_text())
        kind = getattr(message_pb2, vector["message"])
        encoded = bytes.fromhex(vector["hex"])
        if vector["expect"] != "ok":
            failures += 1
            try:
                kind.FromString(encoded)
            except DecodeError:
                refused += 1
            continue
        successes += 1
        for problem in problems(kind, encoded, vector):
            wrong += 1
            print(f"{path.name}: {problem}")
        identical += vector["canonical"]
    print(f"python: {successes} messages read, {identical} of them written anew; "
          f"{refused} of {failures} refusals shared; {wrong} problems")
    if successes < 30 or failures < successes:
        sys.exit("too few vectors")
    sys.exit(wrong > 0)


def problems(kind, encoded, vector):
    message = kind.FromString(encoded)
    value = json_format.MessageToDict(message)
    if value != vector["value"]:
        yield f"reads {value}, not {vector['value']}"
    written = json_format.ParseDict(vector["value"], kind())
    if json_format.MessageToDict(kind.FromString(written.SerializeToString())) != vector["value"]:
        yield "does not read what it writes"
    if vector["canonical"] and written.SerializeToString(deterministic=True) != encoded:
        yield f"writes {written.SerializeToString(deterministic=True).hex()}"


if __name__ == "__main__":
    main(sys.argv[1])
