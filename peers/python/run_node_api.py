"""Reads the vectors of docs/spec/node-api.md: run_node_api.py VECTOR_DIR"""

import json
import sys

import endseal_node_api as api
import vector_run


def problem(vector):
    line = bytes.fromhex(vector["line_hex"]) if "line_hex" in vector else vector["line"].encode()
    fields = {"comment", "expect", "id", "line_hex" if "line_hex" in vector else "line"}
    try:
        id, method, params = api.request(line)
        verdict = "ok"
        fields.add("request")
        written = api.written(id, method, params)
        if written != vector.get("request"):
            return f"{written} instead of {vector.get('request')}"
    except api.Refused as refused:
        id, verdict = refused.id, str(refused.code)
    if verdict != vector["expect"]:
        return f"{verdict} instead of {vector['expect']}"
    if json.dumps(id, ensure_ascii=False) != vector["id"]:
        return f"id {id!r} instead of {vector['id']}"
    return None if vector.keys() == fields else f"fields {sorted(vector.keys() ^ fields)}"


if __name__ == "__main__":
    sys.exit(vector_run.run(sys.argv[1], problem))
