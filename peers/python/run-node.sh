#!/bin/sh
# Runs this implementation on vectors/node, vectors/node-api and vectors/archive.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=$here/../../vectors
proto=$here/../../proto

"$here/prepare.sh"
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
"$here/.venv/bin/python" -m grpc_tools.protoc --proto_path="$proto" --python_out="$generated" \
    "$proto/endseal/v1/message.proto"
export PYTHONPATH="$generated"
"$here/.venv/bin/python" "$here/run_node.py" "$vectors/node"
"$here/.venv/bin/python" "$here/run_node_api.py" "$vectors/node-api"
"$here/.venv/bin/python" "$here/run_archive.py" "$vectors/archive"
