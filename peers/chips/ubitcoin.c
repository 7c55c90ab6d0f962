/* The curve of uBitcoin, in names that do not collide. */
#include "ecdsa.h"
#include "secp256k1.h"

int ubitcoin_public_key(const uint8_t secret[32], uint8_t point[65]) {
    ecdsa_get_public_key65(&secp256k1, secret, point);
    return 1;
}

int ubitcoin_ecdh(const uint8_t secret[32], const uint8_t public_key[33], uint8_t point[65]) {
    return ecdh_multiply(&secp256k1, secret, public_key, point) == 0;
}
