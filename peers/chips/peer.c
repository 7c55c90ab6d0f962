/* Instructions of other programs' operations on RV32IMC, by the firmware's meter. Keys are those of
 * the firmware's vector: the secret keys 1 and 2, and the nonce 1. */
#include <stdint.h>
#include <string.h>

#include "noscrypt.h"
#include "secp256k1.h"
#include "secp256k1_ecdh.h"
#include "secp256k1_extrakeys.h"
#include "secp256k1_schnorrsig.h"

/* uBitcoin's curve is trezor-crypto's. Both libraries have a type `curve_point` of their own. */
int ubitcoin_public_key(const uint8_t secret[32], uint8_t point[65]);
int ubitcoin_ecdh(const uint8_t secret[32], const uint8_t public_key[33], uint8_t point[65]);

static void put(char c) { *(volatile uint8_t *)0x10000000 = (uint8_t)c; }

static void text(const char *words) {
    while (*words) put(*words++);
}

static void number(uint32_t value) {
    char digits[11];
    int at = 10;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
    } while (value /= 10);
    text(digits + at);
}

void finish(int code) {
    for (;;) *(volatile uint32_t *)0x100000 = code ? 0x3333u | (uint32_t)code << 16 : 0x5555u;
}

/* What the C library asks of a system. Errors end the program. */
void *const stderr = 0;

void abort(void) { finish(71); }

void __assert_func(const char *file, int line, const char *function, const char *condition) {
    (void)file, (void)line, (void)function, (void)condition;
    finish(72);
}

static uint32_t instructions(void) {
    uint32_t count;
    __asm__ volatile("csrr %0, minstret" : "=r"(count));
    return count;
}

static void row(const char *peer, const char *op, uint32_t bytes, uint32_t count) {
    text("rv32imc\t"), text(peer), put('\t'), text(op), put('\t'), number(bytes), put('\t');
    number(count), put('\n');
}

static void require(int passed, const char *what) {
    if (passed) return;
    text("FAILED: "), text(what), put('\n');
    finish(1);
}

#define MEASURE(peer, op, bytes, call)                                                            \
    do {                                                                                          \
        uint32_t start = instructions();                                                          \
        int passed = (call);                                                                      \
        uint32_t count = instructions() - start;                                                  \
        require(passed, peer " " op);                                                             \
        row(peer, op, bytes, count);                                                              \
    } while (0)

/* x of 2 * G, which is the agreement of the secret keys 1 and 2. */
static const uint8_t SHARED[32] = {0xc6, 0x04, 0x7f, 0x94, 0x41, 0xed, 0x7d, 0x6d, 0x30, 0x45, 0x40,
                                   0x6e, 0x95, 0xc0, 0x7c, 0xd8, 0x5c, 0x77, 0x8e, 0x4b, 0x8c, 0xef,
                                   0x3c, 0xa7, 0xab, 0xac, 0x09, 0xb9, 0x5c, 0x70, 0x9e, 0xe5};

static int only_x(unsigned char *out, const unsigned char *x, const unsigned char *y, void *data) {
    (void)y, (void)data;
    memcpy(out, x, 32);
    return 1;
}

/* From the peer's 32 bytes to the shared x-coordinate. */
static int agree(const secp256k1_context *context, const uint8_t secret[32], uint8_t out[32]) {
    uint8_t compressed[33] = {2};
    secp256k1_pubkey key;
    memcpy(compressed + 1, SHARED, 32);
    return secp256k1_ec_pubkey_parse(context, &key, compressed, 33) &&
           secp256k1_ecdh(context, out, &key, secret, only_x, NULL);
}

static void libsecp256k1(void) {
    uint8_t one[32] = {[31] = 1}, three[32] = {[31] = 3}, out[32], signature[64], zeros[32] = {0};
    secp256k1_keypair pair;
    secp256k1_xonly_pubkey key;
    static uint8_t memory[2048] __attribute__((aligned(16)));
    require(secp256k1_context_preallocated_size(SECP256K1_CONTEXT_NONE) <= sizeof memory, "memory");
    secp256k1_context *context =
        secp256k1_context_preallocated_create(memory, SECP256K1_CONTEXT_NONE);
    MEASURE("libsecp256k1", "ecdh", 32, agree(context, one, out));
    require(!memcmp(out, SHARED, 32), "libsecp256k1's agreement");
    MEASURE("libsecp256k1", "public_key", 32, secp256k1_keypair_create(context, &pair, three));
    MEASURE("libsecp256k1", "sign", 32,
            secp256k1_schnorrsig_sign32(context, signature, zeros, &pair, zeros));
    require(signature[0] == 0xe9 && signature[63] == 0xc0, "libsecp256k1's signature");
    require(secp256k1_keypair_xonly_pub(context, &key, NULL, &pair), "a key");
    MEASURE("libsecp256k1", "verify", 32,
            secp256k1_schnorrsig_verify(context, signature, zeros, 32, &key));
}

/* The padded "a" under these keys and this nonce: the first vector of NIP-44. */
static const uint8_t CIPHERTEXT[34] = {
    0x79, 0xed, 0x06, 0xe5, 0x54, 0x8a, 0xd3, 0xff, 0x58, 0xca, 0x92, 0x0e,
    0x6c, 0x0b, 0x43, 0x29, 0xf6, 0x04, 0x02, 0x30, 0xf7, 0xe6, 0xe5, 0x64,
    0x1f, 0x20, 0x74, 0x17, 0x80, 0xf0, 0xad, 0xc3, 0x5a, 0x09,
};

static int padded(int bytes) { return bytes <= 32 ? 34 : bytes + 2; }

static void noscrypt(void) {
    static uint8_t plaintext[2048], ciphertext[2048];
    uint8_t entropy[32] = {7}, mac_key[32], nonce[32] = {[31] = 1};
    NCSecretKey own = {{[31] = 1}};
    NCPublicKey peer;
    NCContext *context = NCGetSharedContext();
    require(NCInitContext(context, entropy) == NC_SUCCESS, "noscrypt's context");
    memcpy(peer.key, SHARED, 32);
    plaintext[1] = 1, plaintext[2] = 'a';
    NCEncryptionArgs vector = {nonce, mac_key, plaintext, ciphertext, 34, NC_ENC_VERSION_NIP44};
    require(NCEncrypt(context, &own, &peer, &vector) == NC_SUCCESS &&
                !memcmp(ciphertext, CIPHERTEXT, 34),
            "noscrypt's ciphertext");
    for (int i = 0, sizes[] = {16, 32, 1024}; i < 3; i++) {
        NCEncryptionArgs args = {nonce, mac_key, plaintext, ciphertext, padded(sizes[i]),
                                 NC_ENC_VERSION_NIP44};
        /* The key is derived for each message; the MAC and the encoding are the caller's. */
        MEASURE("noscrypt", "nip44_encrypt_key", sizes[i],
                NCEncrypt(context, &own, &peer, &args) == NC_SUCCESS);
    }
}

static void ubitcoin(void) {
    uint8_t one[32] = {[31] = 1}, three[32] = {[31] = 3}, compressed[33] = {2}, point[65];
    memcpy(compressed + 1, SHARED, 32);
    MEASURE("uBitcoin", "ecdh", 32, ubitcoin_ecdh(one, compressed, point));
    require(!memcmp(point + 1, SHARED, 32), "uBitcoin's agreement");
    MEASURE("uBitcoin", "public_key", 32, ubitcoin_public_key(three, point));
    require(point[1] == 0xf9, "uBitcoin's public key");
}

int main(void) {
    libsecp256k1();
    noscrypt();
    ubitcoin();
    finish(0);
}
