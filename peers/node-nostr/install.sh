#!/bin/sh
# Installs nostr-tools, unless it is there.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

# Modules that were installed completely carry a copy of the lock file.
if ! cmp -s "$here/package-lock.json" "$here/node_modules/installed.json"; then
    (cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    cp "$here/package-lock.json" "$here/node_modules/installed.json"
fi
