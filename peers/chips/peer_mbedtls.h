/* noscrypt's configuration of mbedTLS, without a clock. */
#include "mbedtls_noscrypt_config.h"
#undef MBEDTLS_HAVE_TIME
#undef MBEDTLS_ENTROPY_C
