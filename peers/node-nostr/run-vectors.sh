#!/bin/sh
# Reads vectors/nostr and the official vectors, or the directories given, with nostr-tools.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"$here/install.sh"
exec node "$here/run-vectors.mjs" "$@"
