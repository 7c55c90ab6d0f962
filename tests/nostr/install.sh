#!/usr/bin/env bash
# Installs what these tests need, unless it is there already: pytest, the clients in JavaScript and Python,
# and the peers that hold the relay khatru and the clients in Go and Rust.
#
#   tests/nostr/install.sh [rust] [nostr-sdk] [nostr-rs-relay]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${ENDSEAL_NOSTR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/endseal-nostr}
mkdir -p "$cache/log"

say() { echo "tests/nostr: $*" >&2; }

# An environment whose requirements were installed completely carries a copy of them.
python_packages() {
    cmp -s "$here/requirements.txt" "$cache/venv/installed.txt" && return 0
    say "installing pytest"
    rm -rf "$cache/venv"
    "${PYTHON:-python3}" -m venv "$cache/venv"
    "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        -r "$here/requirements.txt" >"$cache/log/venv" 2>&1
    cp "$here/requirements.txt" "$cache/venv/installed.txt"
}

# An environment for each version of nostr-sdk. Its last file says that it is complete.
nostr_sdk() {
    local version folder
    while read -r version; do
        folder=$cache/nostr-sdk-$version
        [ -e "$folder/installed" ] && continue
        say "installing nostr-sdk $version"
        rm -rf "$folder"
        "${PYTHON:-python3}" -m venv "$folder"
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
            "nostr-sdk==$version" >"$cache/log/nostr-sdk-$version" 2>&1
        touch "$folder/installed"
    done <"$here/clients/python/versions.txt"
}

# Chromium and Firefox, for the approval page.
browsers() {
    command -v chromium >/dev/null && command -v firefox-esr >/dev/null && return 0
    say "installing Chromium and Firefox"
    {
        apt-get update --quiet
        apt-get install --yes --quiet --no-install-recommends chromium firefox-esr
    } >"$cache/log/browsers" 2>&1
}

# Modules that were installed completely carry a copy of the lock file.
node_clients() {
    local folder=$here/clients/node
    cmp -s "$folder/package-lock.json" "$folder/node_modules/installed.json" && return 0
    say "installing the clients in JavaScript"
    (cd "$folder" && npm ci --ignore-scripts --omit=optional --no-audit --no-fund --silent)
    cp "$folder/package-lock.json" "$folder/node_modules/installed.json"
}

go_peer() {
    (cd "$root/peers/go" && go build -buildvcs=false -o target/endseal-peers-go .)
}

rust_peer() {
    (cd "$root/peers/rust-nostr" && CARGO_TARGET_DIR=target cargo build --release --locked --quiet)
}

# It sends no OK for events of ephemeral kinds. About 45 minutes on a busy machine.
nostr_rs_relay() {
    [ -x "$cache/bin/nostr-rs-relay" ] && return 0
    if ! command -v protoc >/dev/null; then
        apt-get install --yes --no-install-recommends protobuf-compiler >>"$cache/log/nostr-rs-relay" 2>&1
    fi
    say "building nostr-rs-relay (log: $cache/log/nostr-rs-relay)"
    # Its locked dependencies do not compile with Rust from 1.80 on.
    rustup toolchain install 1.79.0 --profile minimal --no-self-update >>"$cache/log/nostr-rs-relay" 2>&1
    CARGO_TARGET_DIR="$cache/target" cargo +1.79.0 install nostr-rs-relay --version 0.8.12 --locked --root "$cache" \
        >>"$cache/log/nostr-rs-relay" 2>&1
}

browsers
python_packages
node_clients
go_peer
for part in "$@"; do
    case $part in
    rust) rust_peer ;;
    nostr-sdk) nostr_sdk ;;
    nostr-rs-relay) nostr_rs_relay ;;
    *)
        say "unknown: $part"
        exit 2
        ;;
    esac
done
