"""Runs the test vectors of docs/spec/session-file.md: run_session_file.py VECTOR_DIR"""

import sys

import endseal_session_file as session_file
from vector_run import run

FIELDS = ("kinds", "ids", "senders", "recipients", "messages")


def problem(vector):
    """A description of the fault of one vector, or None."""
    records, ended = session_file.read(bytes.fromhex(vector["file"]))
    if ended != vector["expect"]:
        return f"got {ended}, expected {vector['expect']}"
    if len(records) != vector["records"]:
        return f"got {len(records)} records, expected {vector['records']}"
    for at, field in enumerate(FIELDS):
        found = " ".join(record[at] for record in records)
        if found != vector[field]:
            return f"{field}: got {found}, expected {vector[field]}"
    for record in records:
        if session_file.message_id(bytes.fromhex(record[4])).hex() != record[1]:
            return f"the id {record[1]} is not that of the message"
    return None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: run_session_file.py VECTOR_DIR")
    sys.exit(run(sys.argv[1], problem))
