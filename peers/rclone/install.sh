#!/bin/sh
# Builds the rclone that the suite `s3` measures, below this folder. Go checks the source against
# its checksum database; the versions of what rclone is made of are those of its own go.mod.
set -eu
cd "$(dirname "$0")"
GOBIN="$PWD/target" GOFLAGS=-buildvcs=false exec go install github.com/rclone/rclone@v1.76.0
