#!/bin/sh
# Reads the vectors of Nostr, below vectors/ or the directory given, with nostr-tools.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"$here/install.sh"
exec node "$here/run-vectors.mjs" "$@"
