#!/bin/sh
# Counts instructions of other programs on RV32IMC in QEMU, by the meter of the firmware:
# libsecp256k1 0.6.0 and noscrypt (with its hashes of mbedTLS), and the curve of uBitcoin, which
# the published baseline uses. Prints instruction set, program, operation, bytes and instructions.
#
# The sources stay below `target`. A commit's name is the checksum of its files. Another place of
# the repositories is given as SOURCES, with the folders OWNER+NAME/repo.
#
# Needs gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf and qemu-system-misc.
set -eu
cd "$(dirname "$0")"
NOSCRYPT=eeae1a35a8d8955e89e4cff8c8eac763e8d9b847
UBITCOIN=877542fdc16319dd92a7d2a679ea9dacce474bd2

# get OWNER NAME COMMIT: unpacks a commit below `target`.
get() {
    [ -d "target/$2-$3" ] && return
    from=${SOURCES:+$SOURCES/$1+$2/repo}
    git init --quiet --bare "target/$2.git"
    git -C "target/$2.git" fetch --quiet --depth 1 "${from:-https://github.com/$1/$2}" "$3"
    mkdir "target/$2-$3.new"
    git -C "target/$2.git" archive "$3" | tar x -C "target/$2-$3.new"
    mv "target/$2-$3.new" "target/$2-$3"
}

mkdir -p target
get VnUgE noscrypt $NOSCRYPT
get micro-bitcoin uBitcoin $UBITCOIN
N=target/noscrypt-$NOSCRYPT
T=target/uBitcoin-$UBITCOIN/src/utility/trezor

compile() {
    riscv64-unknown-elf-gcc -march=rv32imc -mabi=ilp32 -O3 -ffunction-sections -fdata-sections -w \
        --specs=picolibc.specs "$@"
}

# The options of noscrypt's own build: the modules, and the tables' default sizes.
compile -c -o target/secp256k1.o -I "$N/vendor/secp256k1/include" \
    -DENABLE_MODULE_ECDH -DENABLE_MODULE_EXTRAKEYS -DENABLE_MODULE_SCHNORRSIG \
    "$N/vendor/secp256k1/src/secp256k1.c"
for table in precomputed_ecmult precomputed_ecmult_gen; do
    compile -c -o target/$table.o "$N/vendor/secp256k1/src/$table.c"
done
for part in noscrypt nc-crypto hkdf; do
    compile -c -o target/$part.o -DMBEDTLS_CRYPTO_LIB -DNC_ENABLE_MONOCYPHER \
        -I . -DMBEDTLS_CONFIG_FILE='"peer_mbedtls.h"' -I "$N/include" -I "$N/vendor" \
        -I "$N/vendor/mbedtls" -I "$N/vendor/mbedtls/include" -I "$N/vendor/secp256k1/include" \
        "$N/src/$part.c"
done
compile -c -o target/monocypher.o "$N/vendor/monocypher/monocypher.c"
for part in sha256 md hkdf chacha20 aes constant_time platform_util platform; do
    compile -c -o target/mbedtls-$part.o -I . -DMBEDTLS_CONFIG_FILE='"peer_mbedtls.h"' \
        -I "$N/vendor/mbedtls" -I "$N/vendor/mbedtls/include" "$N/vendor/mbedtls/library/$part.c"
done
# Both curves have a table of this name.
for part in bignum ecdsa secp256k1 rand memzero hasher hmac rfc6979 sha2 sha3 ripemd160 base58; do
    compile -c -o target/ubitcoin-$part.o -I "$T" "$T/$part.c"
done
compile -c -o target/ubitcoin.o -I "$T" ubitcoin.c
# The counter's register is an extension, for which there is no C library.
compile -march=rv32imc_zicsr -c -o target/entry.o entry.S
compile -march=rv32imc_zicsr -c -o target/peer.o -I "$N/include" \
    -I "$N/vendor/secp256k1/include" peer.c
compile -nostartfiles -Wl,--gc-sections -T link.ld -o target/peer target/*.o
exec timeout 600 qemu-system-riscv32 -machine virt -bios none -icount shift=0 -display none \
    -monitor none -serial stdio -kernel target/peer
