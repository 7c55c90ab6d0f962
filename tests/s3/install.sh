#!/usr/bin/env bash
# Installs servers and clients for these tests into a cache folder, unless they are there already.
#
#   tests/s3/install.sh [versitygw] [minio] [s3proxy] [clients]
#
# Programs that cannot be installed are named on stderr and left out; the tests then show it as skipped. The
# Python clients and rclone are needed: without them this script fails. `clients` are those of --all.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${ENDSEAL_S3_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/endseal-s3}
mkdir -p "$cache/bin" "$cache/lib" "$cache/log"

# Go modules by the version that was tried. MinIO has tagged none since it took to modules.
versitygw=github.com/versity/versitygw/cmd/versitygw@v1.8.0
minio=github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
moto=moto[server,kms]==5.2.5
litestream=github.com/benbjohnson/litestream/cmd/litestream@v0.5.18
s3proxy=org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies

say() { echo "tests/s3: $*" >&2; }

packages() {
    local missing=()
    local python=${PYTHON:-python3}
    "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
    command -v rclone >/dev/null || missing+=(rclone)
    # s3cmd guesses content types with it.
    ldconfig -p | grep -q 'libmagic\.so\.1' || missing+=(libmagic1)
    [ "${#missing[@]}" -eq 0 ] || debian "${missing[@]}"
}

debian() {
    local sudo=()
    [ "$(id -u)" = 0 ] || sudo=(sudo -n)
    "${sudo[@]}" apt-get update -qq >"$cache/log/apt" 2>&1
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes \
        --no-install-recommends "$@" >>"$cache/log/apt" 2>&1
}

# An environment whose requirements were installed completely carries a copy of them.
python_clients() {
    cmp -s "$here/requirements.txt" "$cache/venv/installed.txt" && return 0
    say "installing Python clients"
    rm -rf "$cache/venv"
    "${PYTHON:-python3}" -m venv "$cache/venv"
    "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        -r "$here/requirements.txt" >"$cache/log/venv" 2>&1
    cp "$here/requirements.txt" "$cache/venv/installed.txt"
}

# A binary carries a note of the module it was built from.
go_program() {
    local name=$1 module=$2
    local note=$cache/bin/$name.module
    [ -x "$cache/bin/$name" ] && [ "$(cat "$note" 2>/dev/null)" = "$module" ] && return 0
    if ! command -v go >/dev/null; then
        say "no $name: go is missing"
        return 0
    fi
    say "building $name (log: $cache/log/$name)"
    # From / so that no go.mod near by has a say; the cache is not left with a half-written file.
    if (cd / && GOBIN="$cache/bin/new" GOTOOLCHAIN=auto nice -n "${NICE:-0}" go install "$module") \
        >"$cache/log/$name" 2>&1; then
        mv "$cache/bin/new/$name" "$cache/bin/$name"
        echo "$module" >"$note"
    else
        say "no $name: $(tail -n 1 "$cache/log/$name")"
    fi
}

# The programs below clients/go, which go.mod and go.sum pin.
go_clients() {
    local sources=("$here"/clients/go/go.* "$here"/clients/go/*/*.go)
    local note=$cache/bin/clients.sum
    cat "${sources[@]}" | sha256sum | cmp -s - "$note" && return 0
    if ! command -v go >/dev/null; then
        say "no aws-sdk-go, no minio-go: go is missing"
        return 0
    fi
    say "building aws-sdk-go and minio-go (log: $cache/log/go-clients)"
    if (cd "$here/clients/go" && GOFLAGS=-mod=readonly GOBIN="$cache/bin" GOTOOLCHAIN=auto \
        nice -n "${NICE:-0}" go install ./...) >"$cache/log/go-clients" 2>&1; then
        cat "${sources[@]}" | sha256sum >"$note"
    else
        say "no aws-sdk-go, no minio-go: $(tail -n 1 "$cache/log/go-clients")"
    fi
}

js_client() {
    cmp -s "$here/clients/js/package-lock.json" "$cache/js/package-lock.json" && return 0
    if ! command -v npm >/dev/null; then
        say "no aws-sdk-js: npm is missing"
        return 0
    fi
    say "installing aws-sdk-js"
    rm -rf "$cache/js"
    mkdir -p "$cache/js"
    if ! (cd "$cache/js" && cp "$here"/clients/js/package*.json . && npm ci --no-audit --no-fund) \
        >"$cache/log/js" 2>&1; then
        say "no aws-sdk-js: $(tail -n 1 "$cache/log/js")"
        rm -rf "$cache/js"
    fi
}

# Programs of Debian's packages, each by itself: one that is not there takes no other along.
debian_clients() {
    local package
    for package in restic docker-registry haproxy; do
        command -v "$package" >/dev/null && continue
        debian "$package" || say "no $package: $(tail -n 1 "$cache/log/apt")"
    done
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        debian nodejs npm || say "no node: $(tail -n 1 "$cache/log/apt")"
    fi
}

# A key server. It asks for the same boto3 as the tests.
moto() {
    "$cache/venv/bin/python" -c 'import moto' 2>/dev/null && return 0
    say "installing moto"
    "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        -c "$here/requirements.txt" "$moto" >"$cache/log/moto" 2>&1 ||
        say "no moto: $(tail -n 1 "$cache/log/moto")"
}

jar() {
    local name=$1 artifact=$2
    local note=$cache/lib/$name.artifact
    [ -f "$cache/lib/$name.jar" ] && [ "$(cat "$note" 2>/dev/null)" = "$artifact" ] && return 0
    if ! command -v mvn >/dev/null || ! command -v java >/dev/null; then
        say "no $name: java or mvn is missing"
        return 0
    fi
    say "fetching $name"
    local folder=$cache/lib/new
    rm -rf "$folder"
    if (cd / && mvn --batch-mode --quiet dependency:copy \
        -Dartifact="$artifact" -DoutputDirectory="$folder") >"$cache/log/$name" 2>&1; then
        mv "$folder"/*.jar "$cache/lib/$name.jar"
        echo "$artifact" >"$note"
    else
        say "no $name: $(tail -n 1 "$cache/log/$name")"
    fi
}

packages
python_clients
for server in "$@"; do
    case $server in
    versitygw) go_program versitygw "$versitygw" ;;
    minio) go_program minio "$minio" ;;
    s3proxy) jar s3proxy "$s3proxy" ;;
    clients)
        debian_clients
        go_clients
        go_program litestream "$litestream"
        js_client
        moto
        ;;
    *)
        say "unknown: $server"
        exit 2
        ;;
    esac
done
