#!/bin/sh
# Runs this implementation on vectors/delivery, or on the directory given.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=${1:-$here/../../vectors/delivery}
proto=$here/../../proto

"$here/prepare.sh"
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
"$here/.venv/bin/python" -m grpc_tools.protoc --proto_path="$proto" --python_out="$generated" \
    "$proto/endseal/v1/hub.proto"
PYTHONPATH="$generated" "$here/.venv/bin/python" "$here/run_delivery.py" "$vectors"
