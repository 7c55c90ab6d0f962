// What the tests share.
#include <endseal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                             \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition,        \
                    endseal_last_error());                                             \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

#define OK(call) REQUIRE((call) == ENDSEAL_STATUS_OK)

// Bytes that grow.
typedef struct {
    uint8_t *data;
    size_t len, capacity;
} bytes;

// Takes output of a stream.
static int append(void *user, const uint8_t *data, size_t len) {
    bytes *to = user;
    if (len > to->capacity - to->len) {
        to->capacity = 2 * to->capacity + len;
        to->data = realloc(to->data, to->capacity);
        REQUIRE(to->data != NULL);
    }
    memcpy(to->data + to->len, data, len);
    to->len += len;
    return 0;
}
