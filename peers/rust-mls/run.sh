#!/bin/sh
# Lets groups of endseal-session and of OpenMLS meet.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

# Into the target folder of the product: OpenSSL and AWS-LC below it were built there already.
: "${CARGO_TARGET_DIR:=$here/../../target}"
export CARGO_TARGET_DIR
exec cargo run --locked --quiet --manifest-path "$here/Cargo.toml"
