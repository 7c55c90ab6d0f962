#!/bin/sh
# Reads vectors/codec, or the directory given, with protobufjs and the types of proto/.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

# Modules that were installed completely carry a copy of the lock file.
if ! cmp -s "$here/package-lock.json" "$here/node_modules/installed.json"; then
    (cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    cp "$here/package-lock.json" "$here/node_modules/installed.json"
fi

exec node "$here/run-vectors.mjs" "$@"
