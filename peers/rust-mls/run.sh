#!/bin/sh
# Lets groups of endseal-session and of OpenMLS meet.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

exec cargo run --release --locked --quiet --manifest-path "$here/Cargo.toml"
