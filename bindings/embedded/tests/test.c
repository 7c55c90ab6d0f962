/* Tests of endseal_nostr.h: every vector that vectors.py writes, wiping, callbacks and hostile
 * input. Each input and output is a piece of malloc of exactly its length, so that the tools of a
 * computer see accesses beyond it. */
#include "endseal_nostr.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

_Static_assert(sizeof(endseal_nostr) == ENDSEAL_NOSTR_CONTEXT_LEN, "length of a context");
_Static_assert(ENDSEAL_NOSTR_OK == 0 && ENDSEAL_NOSTR_BUSY == 13, "statuses");

/* A step of a call may take so many instructions: endseal_nostr.h. */
#ifdef __arm__
#define STEP_LIMIT 6000000u
#else
#define STEP_LIMIT 8000000u
#endif

/* Requests that are changed. */
#ifndef ROUNDS
#define ROUNDS 60
#endif

/* The lines of vectors.py. */
__asm__(".section .rodata\n.balign 4\n.globl vectors\nvectors:\n.incbin \"" VECTORS "\"\n"
        ".globl vectors_end\nvectors_end:\n.previous\n");
extern const char vectors[], vectors_end[];

static unsigned checks, failures, opened, refused;

static void say(const char *format, ...) {
    char text[400];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    machine_write(text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
}

static int check(int holds, const char *what, int line) {
    checks++;
    if (!holds) {
        failures++;
        say("FAILED: line %d: %s\n", line, what);
    }
    return holds;
}
#define CHECK(condition) check(condition, #condition, __LINE__)

/* Bytes of malloc. Of no bytes there is a pointer, too. */
typedef struct {
    uint8_t *start;
    size_t len;
} bytes;

static bytes allocate(size_t len) {
    bytes it = {malloc(len ? len : 1), len};
    if (!it.start) {
        say("no memory for %u bytes\n", (unsigned)len);
        machine_exit(1);
    }
    memset(it.start, 0xEE, len ? len : 1);
    return it;
}

static bytes copy(const void *start, size_t len) {
    bytes it = allocate(len);
    memcpy(it.start, start, len);
    return it;
}

static int equal(bytes a, bytes b) {
    return a.len == b.len && memcmp(a.start, b.start, a.len) == 0;
}

static int contains(const void *memory, size_t memory_len, const void *part, size_t len) {
    const uint8_t *start = memory;
    for (size_t i = 0; len && i + len <= memory_len; i++) {
        if (memcmp(start + i, part, len) == 0) {
            return 1;
        }
    }
    return 0;
}

/* What the callbacks do. */
typedef struct {
    /* Bytes that the random source gives, again and again. */
    const uint8_t *random;
    size_t random_len;
    int random_fails;
    int aes_fails;
    unsigned aes_calls;
    unsigned steps;
    int32_t decision;
    unsigned decisions;
    int32_t method, kind;
    char shown[2100];
    size_t shown_len;
    uint32_t mark;
    uint64_t longest_step;
    /* A callback that calls back. */
    int calls_back;
    int32_t called_back;
    endseal_nostr *context;
} chip;

static int32_t chip_random(void *user, uint8_t *out, size_t len) {
    chip *it = user;
    if (it->random_fails) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        out[i] = it->random_len ? it->random[i % it->random_len] : (uint8_t)(7 * i + 1);
    }
    return 0;
}

static void chip_step(void *user) {
    chip *it = user;
    if (it->steps++) {
        uint64_t step = machine_since(it->mark);
        it->longest_step = step > it->longest_step ? step : it->longest_step;
    }
    if (it->calls_back) {
        uint8_t key[32] = {1}, out[32];
        it->called_back = endseal_nostr_public_key(it->context, key, out);
    }
    it->mark = machine_mark();
}

static int32_t chip_decide(void *user, const endseal_nostr_request *request) {
    chip *it = user;
    it->decisions++;
    it->method = request->method;
    it->kind = request->kind;
    it->shown_len = request->shown_len < sizeof it->shown ? request->shown_len : sizeof it->shown;
    memcpy(it->shown, request->shown, it->shown_len);
    CHECK(request->method_name && request->client && request->event_id && request->digest);
    return it->decision;
}

/* A peripheral for the tests: the library's own AES, through another context. */
static int32_t chip_aes(void *user, const uint8_t *key, int32_t decrypt, uint8_t *blocks,
                        size_t count) {
    static endseal_nostr software;
    chip *it = user;
    it->aes_calls++;
    if (it->aes_fails) {
        return 5;
    }
    endseal_nostr_callbacks none = {0};
    const uint8_t iv[16] = {0};
    if (endseal_nostr_init(&software, sizeof software, &none) != ENDSEAL_NOSTR_OK) {
        return 1;
    }
    for (; count; count--, blocks += 16) {
        uint8_t text[32];
        size_t len;
        memcpy(text, blocks, 16);
        if (!decrypt) {
            /* The first block of CBC under an IV of zeros is that of ECB. */
            endseal_nostr_aes256_cbc_encrypt(&software, key, iv, text, 16, 32, &len);
        } else {
            /* A second block that decrypts to padding: that of 16 times 16, chained. */
            uint8_t padding[32] = {0};
            memset(padding, 16, 16);
            for (int i = 0; i < 16; i++) {
                padding[i] ^= blocks[i];
            }
            endseal_nostr_aes256_cbc_encrypt(&software, key, iv, padding, 16, 32, &len);
            memcpy(text + 16, padding, 16);
            if (endseal_nostr_aes256_cbc_decrypt(&software, key, iv, text, 32, &len) != 0) {
                return 2;
            }
        }
        memcpy(blocks, text, 16);
    }
    return 0;
}

static chip the_chip;
static endseal_nostr *context;

static void set_up(int has_aes) {
    memset(&the_chip, 0, sizeof the_chip);
    the_chip.context = context;
    endseal_nostr_callbacks callbacks = {&the_chip, chip_random, chip_step,
                                         has_aes ? chip_aes : NULL};
    CHECK(endseal_nostr_init(context, sizeof *context, &callbacks) == ENDSEAL_NOSTR_OK);
}

/* All scratch memory of the context is zero: only a few words of the set-up are not. */
static int is_wiped(void) {
    const uint8_t *start = (const uint8_t *)context;
    size_t other = 0;
    for (size_t i = 0; i < sizeof *context; i++) {
        other += start[i] != 0;
    }
    return other <= 40;
}

/* A text that a function writes. */
typedef struct {
    int32_t status;
    bytes text;
    size_t len;
} written;

/* Calls a function with a buffer that is too small, which it must refuse, then with one of the
 * length that it asks for. */
#define WRITTEN(result, call)                                                                      \
    do {                                                                                           \
        bytes small_ = allocate(1);                                                                \
        char *out = (char *)small_.start;                                                          \
        size_t out_cap = 1, out_len = 99;                                                          \
        (result).status = call;                                                                    \
        (result).len = out_len;                                                                    \
        CHECK((result).status == ENDSEAL_NOSTR_OK || *out == 0);                                   \
        free(small_.start);                                                                        \
        (result).text = allocate(0);                                                               \
        if ((result).status == ENDSEAL_NOSTR_TOO_SMALL || (result).status == ENDSEAL_NOSTR_OK) {   \
            size_t needed_ = out_len;                                                              \
            free((result).text.start);                                                             \
            (result).text = allocate(needed_ + 1);                                                 \
            out = (char *)(result).text.start;                                                     \
            out_cap = needed_ + 1;                                                                 \
            (result).status = call;                                                                \
            (result).len = out_len;                                                                \
            CHECK((result).status == ENDSEAL_NOSTR_OK && out_len == needed_ && out[needed_] == 0); \
            (result).text.len = out_len;                                                           \
        } else {                                                                                   \
            CHECK(out_len == 0);                                                                   \
        }                                                                                          \
        CHECK(is_wiped());                                                                         \
    } while (0)

/* ---- vectors ---- */

enum { MOST_FIELDS = 12 };
static bytes field[MOST_FIELDS];
static size_t field_count;

static int digit(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* A number without a prefix. */
static uint64_t number(const char *text, const char *end) {
    uint64_t value = 0;
    for (; text < end; text++) {
        value = value << 4 | (unsigned)digit(*text);
    }
    return value;
}

static bytes decode(const char *text, const char *end) {
    size_t count = 1;
    const char *star = memchr(text, '*', (size_t)(end - text));
    if (star) {
        count = (size_t)number(text, star);
        text = star + 1;
    }
    if (*text == '-') {
        return allocate(0);
    }
    size_t len = (size_t)(end - text) / 2;
    bytes it = allocate(len * count);
    for (size_t i = 0; i < len * count; i++) {
        const char *pair = text + 2 * (i % len);
        it.start[i] = (uint8_t)(digit(pair[0]) << 4 | digit(pair[1]));
    }
    return it;
}

static const char *text_of(int i) {
    return (const char *)field[i].start;
}

static void conversation(int32_t expected) {
    bytes key = allocate(32);
    int32_t status = endseal_nostr_conversation_key(context, field[0].start, field[1].start,
                                                    key.start);
    if (expected == 1000) {
        CHECK(status == ENDSEAL_NOSTR_SECRET_KEY || status == ENDSEAL_NOSTR_PUBLIC_KEY);
    } else if (CHECK(status == expected)) {
        CHECK(equal(key, field[2]));
    }
    CHECK(is_wiped());
    free(key.start);
}

static void seal(int32_t expected) {
    written it;
    the_chip.random = field[1].start;
    the_chip.random_len = field[1].len;
    WRITTEN(it, endseal_nostr_nip44_encrypt_with(context, field[0].start, text_of(2), field[2].len,
                                                 out, out_cap, &out_len));
    CHECK(it.status == expected);
    if (it.status == ENDSEAL_NOSTR_OK) {
        CHECK(it.len == endseal_nostr_nip44_len(field[2].len));
        CHECK(field[3].len == 0 || equal(it.text, field[3]));
    }
    free(it.text.start);
}

static void open_payload(int32_t expected) {
    written it;
    WRITTEN(it, endseal_nostr_nip44_decrypt_with(context, field[0].start, text_of(1), field[1].len,
                                                 out, out_cap, &out_len));
    CHECK(it.status == expected);
    CHECK(it.status != ENDSEAL_NOSTR_OK || equal(it.text, field[2]));
    free(it.text.start);
}

/* Both sides: secrets, conversation key, nonce, plaintext, payload. */
static void pair(int32_t expected) {
    CHECK(expected == ENDSEAL_NOSTR_OK);
    bytes key = allocate(32), other = allocate(32);
    the_chip.random = field[3].start;
    the_chip.random_len = field[3].len;
    for (int side = 0; side < 2; side++) {
        const uint8_t *own = field[side].start, *peer = field[1 - side].start;
        CHECK(endseal_nostr_public_key(context, peer, other.start) == ENDSEAL_NOSTR_OK);
        CHECK(endseal_nostr_conversation_key(context, own, other.start, key.start) == 0);
        CHECK(equal(key, field[2]));
        written it;
        WRITTEN(it, endseal_nostr_nip44_encrypt(context, own, other.start, text_of(4),
                                                field[4].len, out, out_cap, &out_len));
        CHECK(equal(it.text, field[5]));
        free(it.text.start);
        WRITTEN(it, endseal_nostr_nip44_decrypt(context, own, other.start, text_of(5),
                                                field[5].len, out, out_cap, &out_len));
        CHECK(equal(it.text, field[4]));
        free(it.text.start);
    }
    free(key.start);
    free(other.start);
}

/* Secret, public, IV, content, plaintext; in software and by a peripheral. */
static void nip04(int32_t expected) {
    for (int has_aes = 0; has_aes < 2; has_aes++) {
        set_up(has_aes);
        the_chip.random = field[2].start;
        the_chip.random_len = field[2].len;
        written it;
        WRITTEN(it, endseal_nostr_nip04_decrypt(context, field[0].start, field[1].start, text_of(3),
                                                field[3].len, out, out_cap, &out_len));
        CHECK(it.status == expected);
        CHECK(it.status != ENDSEAL_NOSTR_OK || equal(it.text, field[4]));
        free(it.text.start);
        if (expected == ENDSEAL_NOSTR_OK) {
            WRITTEN(it, endseal_nostr_nip04_encrypt(context, field[0].start, field[1].start,
                                                    text_of(4), field[4].len, out, out_cap,
                                                    &out_len));
            CHECK(it.len == endseal_nostr_nip04_len(field[4].len) && equal(it.text, field[3]));
            free(it.text.start);
            CHECK(!has_aes || the_chip.aes_calls > 0);
        }
    }
    set_up(0);
}

static void verify(int32_t expected) {
    bytes author = allocate(32);
    CHECK(endseal_nostr_verify(context, text_of(0), field[0].len, author.start) == expected);
    CHECK(expected != ENDSEAL_NOSTR_OK || equal(author, field[1]));
    CHECK(endseal_nostr_verify(context, text_of(0), field[0].len, NULL) == expected);
    CHECK(is_wiped());
    free(author.start);
}

static uint64_t value(int i) {
    /* Numbers have no bytes: the line keeps their text. */
    return number(text_of(i), text_of(i) + field[i].len);
}

/* Author, time, kind, tags, content, id. */
static void identify(int32_t expected) {
    bytes id = allocate(32);
    endseal_nostr_draft draft = {value(1),     (uint16_t)value(2), text_of(3), field[3].len,
                                 text_of(4), field[4].len};
    CHECK(endseal_nostr_event_id(context, field[0].start, &draft, id.start) == expected);
    CHECK(equal(id, field[5]));
    free(id.start);
}

/* The text of a member of an event of ours, without escapes. */
static bytes member(bytes event, const char *name) {
    char start[20];
    int len = snprintf(start, sizeof start, "\"%s\":\"", name);
    for (size_t i = 0; i + (size_t)len <= event.len; i++) {
        if (memcmp(event.start + i, start, (size_t)len) == 0) {
            const uint8_t *text = event.start + i + len;
            const uint8_t *end = memchr(text, '"', (size_t)(event.start + event.len - text));
            return copy(text, end ? (size_t)(end - text) : 0);
        }
    }
    return allocate(0);
}

/* User's and signer's secret, client, connection secret, time, floor, nonce, decision, event, and the
 * content of the answer. */
static void answer(int32_t expected) {
    the_chip.random = field[6].start;
    the_chip.random_len = field[6].len;
    the_chip.decision = (int32_t)value(7);
    endseal_nostr_signer signer = {
        field[0].start,  field[1].start, field[2].start, field[2].len / 32, text_of(3),
        field[3].len, value(4),       value(5),       chip_decide};
    bytes event = allocate(ENDSEAL_NOSTR_MAX_TEXT + 1), author = allocate(32), own = allocate(32);
    size_t len = 0;
    int32_t status = endseal_nostr_answer(context, &signer, text_of(8), field[8].len,
                                          (char *)event.start, event.len, &len);
    CHECK(is_wiped());
    CHECK(status == expected);
    if (status == ENDSEAL_NOSTR_OK) {
        event.len = len;
        CHECK(endseal_nostr_verify(context, (char *)event.start, len, author.start) == 0);
        CHECK(endseal_nostr_public_key(context, field[1].start, own.start) == 0);
        CHECK(equal(author, own));
        bytes content = member(event, "content");
        CHECK(equal(content, field[9]));
        CHECK((the_chip.method == ENDSEAL_NOSTR_SIGN_EVENT) == (the_chip.kind > 0));
        free(content.start);
    }
    free(event.start);
    free(author.start);
    free(own.start);
}

static const struct {
    const char *name;
    void (*run)(int32_t expected);
} operations[] = {
    {"conversation", conversation}, {"seal", seal},     {"open", open_payload}, {"pair", pair},
    {"nip04", nip04},               {"verify", verify}, {"id", identify},       {"answer", answer},
};

/* Fields that are numbers, as texts. */
static int is_number(const char *name, size_t i) {
    return (strcmp(name, "id") == 0 && (i == 1 || i == 2)) ||
           (strcmp(name, "answer") == 0 && (i == 4 || i == 5 || i == 7));
}

static void run_line(const char *line, const char *end) {
    char name[16] = {0};
    int32_t expected = 0;
    field_count = 0;
    for (int part = 0; line < end; part++) {
        const char *stop = memchr(line, ' ', (size_t)(end - line));
        stop = stop ? stop : end;
        if (part == 0) {
            memcpy(name, line, (size_t)(stop - line));
        } else if (part == 1) {
            for (const char *c = line; c < stop; c++) {
                expected = 10 * expected + (*c - '0');
            }
        } else {
            field[field_count] = is_number(name, field_count) ? copy(line, (size_t)(stop - line))
                                                              : decode(line, stop);
            field_count++;
        }
        line = stop + 1;
    }
    set_up(0);
    unsigned before = failures;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i].name, name) == 0) {
            operations[i].run(expected);
        }
    }
    if (failures == before) {
        *(expected == ENDSEAL_NOSTR_OK ? &opened : &refused) += 1;
    } else {
        say("  in a vector of '%s'\n", name);
    }
    CHECK(the_chip.longest_step <= STEP_LIMIT);
    for (size_t i = 0; i < field_count; i++) {
        free(field[i].start);
    }
}

static unsigned run_vectors(void) {
    unsigned count = 0;
    for (const char *line = vectors; line < vectors_end;) {
        const char *end = memchr(line, '\n', (size_t)(vectors_end - line));
        run_line(line, end);
        line = end + 1;
        count++;
    }
    return count;
}

/* ---- what vectors cannot show ---- */

static const uint8_t SECRET_ONE[32] = {[31] = 1}, SECRET_TWO[32] = {[31] = 2};
static const char PLAINTEXT[] = "a plaintext that is searched for in memory";

static void arguments(void) {
    endseal_nostr_callbacks callbacks = {&the_chip, chip_random, chip_step, NULL};
    uint8_t key[32], out[32];
    CHECK(endseal_nostr_abi_version() == ENDSEAL_NOSTR_ABI_VERSION);
    for (int32_t status = -1; status <= 14; status++) {
        CHECK(strlen(endseal_nostr_status_text(status)) > 1);
    }
    CHECK(endseal_nostr_init(NULL, sizeof *context, &callbacks) == ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_init(context, sizeof *context, NULL) == ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_init(context, sizeof *context - 8, &callbacks) == ENDSEAL_NOSTR_ARGUMENT);
    endseal_nostr_wipe(NULL);
    endseal_nostr_wipe(context);
    for (size_t i = 0; i < sizeof *context; i++) {
        CHECK(((uint8_t *)context)[i] == 0 || i == (size_t)-1);
    }
    /* It is not set up. */
    CHECK(endseal_nostr_public_key(context, SECRET_ONE, out) == ENDSEAL_NOSTR_ARGUMENT);
    set_up(0);
    CHECK(endseal_nostr_public_key(NULL, SECRET_ONE, out) == ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_public_key(context, NULL, out) == ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_public_key(context, SECRET_ONE, NULL) == ENDSEAL_NOSTR_ARGUMENT);
    endseal_nostr *unaligned = (endseal_nostr *)((uint8_t *)context + 1);
    CHECK(endseal_nostr_public_key(unaligned, SECRET_ONE, out) == ENDSEAL_NOSTR_ARGUMENT);
    /* Overlapping memory, the context's among it. */
    memcpy(key, SECRET_ONE, 32);
    CHECK(endseal_nostr_public_key(context, key, key) == ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_public_key(context, SECRET_ONE, (uint8_t *)context + 100) ==
          ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_public_key(context, (uint8_t *)context + 100, out) ==
          ENDSEAL_NOSTR_ARGUMENT);
    size_t len = 0;
    char text[200] = "text";
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, text, 4, text + 3, 190, &len) ==
          ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, text, 4, text + 4, 190, NULL) ==
          ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, text, SIZE_MAX, text + 4, 190, &len) ==
          ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, NULL, 4, text + 4, 190, &len) ==
          ENDSEAL_NOSTR_ARGUMENT);
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, NULL, 0, text + 4, 190, &len) ==
          ENDSEAL_NOSTR_LENGTH);
    /* Inputs may be the same memory. */
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, (char *)key, 4, text, 133, &len) ==
          ENDSEAL_NOSTR_OK);
    CHECK(len == 132);
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, "\xff", 1, text, 133, &len) ==
          ENDSEAL_NOSTR_TEXT);
    CHECK(endseal_nostr_nip44_encrypt_with(context, key, "x", 1, NULL, 0, &len) ==
          ENDSEAL_NOSTR_TOO_SMALL && len == 132);
    const uint8_t zero[32] = {0};
    CHECK(endseal_nostr_public_key(context, zero, out) == ENDSEAL_NOSTR_SECRET_KEY);
    CHECK(endseal_nostr_nip44_len(0) == 0 && endseal_nostr_nip44_len(8193) == 0);
    CHECK(endseal_nostr_nip04_len(0) == 52 && endseal_nostr_nip04_len(8193) == 0);
}

/* No plaintext, key or nonce is left in the context, whatever a call returned. */
static void wiping(void) {
    set_up(0);
    char payload[300], text[300];
    uint8_t peer[32], key[32];
    size_t payload_len, len, text_len = sizeof PLAINTEXT - 1;
    CHECK(endseal_nostr_public_key(context, SECRET_TWO, peer) == 0);
    CHECK(endseal_nostr_conversation_key(context, SECRET_ONE, peer, key) == 0);
    CHECK(endseal_nostr_nip44_encrypt(context, SECRET_ONE, peer, PLAINTEXT, text_len, payload,
                                      sizeof payload, &payload_len) == 0);
    /* Decrypted, and decrypted into too small a buffer. */
    for (size_t cap = sizeof text; cap; cap = cap == sizeof text ? 5 : 0) {
        int32_t status = endseal_nostr_nip44_decrypt(context, SECRET_ONE, peer, payload,
                                                     payload_len, text, cap, &len);
        CHECK(status == (cap == 5 ? ENDSEAL_NOSTR_TOO_SMALL : ENDSEAL_NOSTR_OK));
        CHECK(len == text_len);
        CHECK(!contains(context, sizeof *context, PLAINTEXT, 8));
        CHECK(!contains(context, sizeof *context, key, 8));
        CHECK(!contains(context, sizeof *context, payload + 20, 8));
        CHECK(is_wiped());
    }
    CHECK(endseal_nostr_nip04_encrypt(context, SECRET_ONE, peer, PLAINTEXT, text_len, payload,
                                      sizeof payload, &payload_len) == 0);
    CHECK(endseal_nostr_nip04_decrypt(context, SECRET_ONE, peer, payload, payload_len, text,
                                      sizeof text, &len) == 0);
    CHECK(len == text_len && memcmp(text, PLAINTEXT, len) == 0);
    CHECK(!contains(context, sizeof *context, PLAINTEXT, 8) && is_wiped());
}

static void callbacks(void) {
    set_up(1);
    uint8_t peer[32];
    char payload[1200], text[1200], long_text[700];
    size_t payload_len = 9, len = 9;
    memset(long_text, 'a', sizeof long_text);
    CHECK(endseal_nostr_public_key(context, SECRET_TWO, peer) == 0);
    /* A random source that fails leaves nothing. */
    the_chip.random_fails = 1;
    CHECK(endseal_nostr_nip44_encrypt(context, SECRET_ONE, peer, PLAINTEXT, 9, payload,
                                      sizeof payload, &payload_len) == ENDSEAL_NOSTR_RANDOM);
    CHECK(payload_len == 0 && payload[0] == 0);
    endseal_nostr_draft draft = {1, 1, NULL, 0, PLAINTEXT, 9};
    CHECK(endseal_nostr_sign(context, SECRET_ONE, &draft, payload, sizeof payload, &payload_len) ==
          ENDSEAL_NOSTR_RANDOM);
    the_chip.random_fails = 0;
    /* A peripheral that works, over several steps, and one that fails. */
    CHECK(endseal_nostr_nip04_encrypt(context, SECRET_ONE, peer, long_text, sizeof long_text,
                                      payload, sizeof payload, &payload_len) == 0);
    unsigned calls = the_chip.aes_calls;
    CHECK(calls > 2);
    CHECK(endseal_nostr_nip04_decrypt(context, SECRET_ONE, peer, payload, payload_len, text,
                                      sizeof text, &len) == 0);
    CHECK(len == sizeof long_text && memcmp(text, long_text, len) == 0);
    CHECK(the_chip.aes_calls > calls);
    the_chip.aes_fails = 1;
    CHECK(endseal_nostr_nip04_decrypt(context, SECRET_ONE, peer, payload, payload_len, text,
                                      sizeof text, &len) == ENDSEAL_NOSTR_AES);
    CHECK(len == 0 && text[0] == 0 && is_wiped());
    memset(payload, 0, sizeof payload);
    CHECK(endseal_nostr_nip04_encrypt(context, SECRET_ONE, peer, long_text, sizeof long_text,
                                      payload, sizeof payload, &payload_len) == ENDSEAL_NOSTR_AES);
    CHECK(!contains(payload, sizeof payload, long_text, 16));
    /* The library is not entered twice. */
    the_chip.calls_back = 1;
    uint8_t out[32];
    CHECK(endseal_nostr_public_key(context, SECRET_TWO, out) == ENDSEAL_NOSTR_OK);
    CHECK(the_chip.called_back == ENDSEAL_NOSTR_BUSY && memcmp(out, peer, 32) == 0);
    /* No random source, no peripheral, no watchdog. */
    endseal_nostr_callbacks none = {0};
    CHECK(endseal_nostr_init(context, sizeof *context, &none) == 0);
    CHECK(endseal_nostr_public_key(context, SECRET_TWO, out) == ENDSEAL_NOSTR_OK);
    CHECK(endseal_nostr_sign(context, SECRET_ONE, &draft, payload, sizeof payload, &payload_len) ==
          ENDSEAL_NOSTR_RANDOM);
}

/* AES-256-CBC of NIST SP 800-38A, F.2.5, by software and by the peripheral. */
static void aes(void) {
    static const uint8_t KEY[32] = {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe,
                                    0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
                                    0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7,
                                    0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
    static const uint8_t PLAIN[16] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96,
                                      0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a};
    static const uint8_t CIPHER[16] = {0xf5, 0x8c, 0x4c, 0x04, 0xd6, 0xe5, 0xf1, 0xba,
                                       0x77, 0x9e, 0xab, 0xfb, 0x5f, 0x7b, 0xfb, 0xd6};
    uint8_t iv[16];
    for (int i = 0; i < 16; i++) {
        iv[i] = (uint8_t)i;
    }
    for (int has_aes = 0; has_aes < 2; has_aes++) {
        set_up(has_aes);
        bytes buffer = allocate(32);
        size_t len = 0;
        memcpy(buffer.start, PLAIN, 16);
        CHECK(endseal_nostr_aes256_cbc_encrypt(context, KEY, iv, buffer.start, 16, 31, &len) ==
              ENDSEAL_NOSTR_LENGTH);
        memcpy(buffer.start, PLAIN, 16);
        CHECK(endseal_nostr_aes256_cbc_encrypt(context, KEY, iv, buffer.start, 16, 32, &len) == 0);
        CHECK(len == 32 && memcmp(buffer.start, CIPHER, 16) == 0);
        CHECK(endseal_nostr_aes256_cbc_decrypt(context, KEY, iv, buffer.start, 32, &len) == 0);
        CHECK(len == 16 && memcmp(buffer.start, PLAIN, 16) == 0);
        CHECK(endseal_nostr_aes256_cbc_decrypt(context, KEY, iv, buffer.start, 31, &len) ==
              ENDSEAL_NOSTR_DECRYPTION);
        free(buffer.start);
    }
}

static void signing(void) {
    set_up(0);
    uint8_t own[32], author[32], id[32];
    CHECK(endseal_nostr_public_key(context, SECRET_ONE, own) == 0);
    static const char *const CONTENTS[] = {"", "hello", "\"\\\n\t\x01 \xc3\xa9 \xf0\x9f\x98\x80"};
    static const char TAGS[] = "[[\"t\",\"a\\n\"],[\"e\",\"\",\"wss://r\"]]";
    for (size_t i = 0; i < 3; i++) {
        endseal_nostr_draft draft = {1700000000, 1, TAGS, sizeof TAGS - 1, CONTENTS[i],
                                     strlen(CONTENTS[i])};
        written it;
        WRITTEN(it, endseal_nostr_sign(context, SECRET_ONE, &draft, out, out_cap, &out_len));
        CHECK(endseal_nostr_verify(context, (char *)it.text.start, it.len, author) == 0);
        CHECK(memcmp(own, author, 32) == 0);
        CHECK(endseal_nostr_event_id(context, own, &draft, id) == 0);
        bytes in_json = member(it.text, "id");
        for (int j = 0; CHECK(in_json.len == 64) && j < 32; j++) {
            CHECK(number((char *)in_json.start + 2 * j, (char *)in_json.start + 2 * j + 2) == id[j]);
        }
        free(in_json.start);
        /* Every changed byte is noticed. */
        for (size_t at = 0; at < it.len; at += i == 1 ? 1 : 17) {
            it.text.start[at] ^= 1;
            CHECK(endseal_nostr_verify(context, (char *)it.text.start, it.len, NULL) != 0);
            it.text.start[at] ^= 1;
        }
        free(it.text.start);
    }
    /* Tags that would add members, and texts beyond the limits. */
    static const char *const WRONG[] = {"[],\"pubkey\":\"\"", "[[]]", "[1]", "{}", "[[\"a\"]", " "};
    char event[600];
    size_t len;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        endseal_nostr_draft draft = {1, 1, WRONG[i], strlen(WRONG[i]), "", 0};
        CHECK(endseal_nostr_sign(context, SECRET_ONE, &draft, event, sizeof event, &len) ==
              ENDSEAL_NOSTR_JSON);
    }
    bytes long_text = allocate(ENDSEAL_NOSTR_MAX_PLAINTEXT + 1);
    memset(long_text.start, 'a', long_text.len);
    endseal_nostr_draft draft = {1, 1, NULL, 0, (char *)long_text.start, long_text.len};
    CHECK(endseal_nostr_sign(context, SECRET_ONE, &draft, event, sizeof event, &len) ==
          ENDSEAL_NOSTR_LENGTH);
    /* The longest steps: an event of nearly the greatest length, all of it escapes. */
    the_chip.longest_step = 0;
    memset(long_text.start, '"', long_text.len);
    draft.content_len = 7900;
    written it;
    WRITTEN(it, endseal_nostr_sign(context, SECRET_ONE, &draft, out, out_cap, &out_len));
    CHECK(it.status == ENDSEAL_NOSTR_OK && it.len > 16000 && it.len <= ENDSEAL_NOSTR_MAX_TEXT);
    CHECK(endseal_nostr_verify(context, (char *)it.text.start, it.len, NULL) == ENDSEAL_NOSTR_OK);
    CHECK(the_chip.longest_step <= STEP_LIMIT);
    say("longest step: %u instructions\n", (unsigned)the_chip.longest_step);
    free(it.text.start);
    free(long_text.start);
}

/* Bytes without meaning, and payloads and events that were changed, cut and made longer. */
static void hostile(void) {
    set_up(0);
    uint8_t peer[32], key[32] = {7};
    uint32_t state = 1;
    CHECK(endseal_nostr_public_key(context, SECRET_TWO, peer) == 0);
    static const char REQUEST[] = "{\"id\":\"1\",\"method\":\"ping\",\"params\":[]}";
    char payload[600];
    size_t payload_len;
    CHECK(endseal_nostr_nip44_encrypt(context, SECRET_ONE, peer, REQUEST, sizeof REQUEST - 1,
                                      payload, sizeof payload, &payload_len) == 0);
    uint8_t client[32];
    CHECK(endseal_nostr_public_key(context, SECRET_ONE, client) == 0);
    endseal_nostr_signer signer = {SECRET_TWO, SECRET_TWO, client, 1, NULL, 0, 1000, 0,
                                   chip_decide};
    for (int round = 0; round < 300; round++) {
        state = state * 1664525u + 1013904223u;
        size_t len = round < 100 ? (size_t)round * 2 : (state >> 20) % 700;
        bytes noise = allocate(len);
        for (size_t i = 0; i < len; i++) {
            state = state * 1664525u + 1013904223u;
            /* Bytes, or characters of Base64 and JSON. */
            noise.start[i] = round & 1 ? (uint8_t)(state >> 24)
                                       : (uint8_t)"{}[]\":,\\u0aA=/+?iv"[(state >> 24) % 18];
        }
        bytes out = allocate(64);
        size_t out_len = 9;
        const char *text = (const char *)noise.start;
        CHECK(endseal_nostr_nip44_decrypt_with(context, key, text, len, (char *)out.start, 64,
                                               &out_len) == ENDSEAL_NOSTR_DECRYPTION);
        CHECK(endseal_nostr_verify(context, text, len, NULL) == ENDSEAL_NOSTR_JSON);
        CHECK(endseal_nostr_answer(context, &signer, text, len, (char *)out.start, 64, &out_len) ==
              ENDSEAL_NOSTR_IGNORED);
        if (round % 10 == 0) {
            CHECK(endseal_nostr_nip04_decrypt(context, SECRET_ONE, peer, text, len,
                                              (char *)out.start, 64, &out_len) ==
                  ENDSEAL_NOSTR_DECRYPTION);
        }
        CHECK(out_len == 0 && out.start[0] == 0 && is_wiped());
        free(noise.start);
        free(out.start);
    }
    /* A request that is authentic, and the same cut at each length and with a byte more. */
    uint8_t conversation[32];
    CHECK(endseal_nostr_conversation_key(context, SECRET_ONE, peer, conversation) == 0);
    char tags[80] = "[[\"p\",\"";
    for (int i = 0; i < 32; i++) {
        snprintf(tags + 7 + 2 * i, 3, "%02x", peer[i]);
    }
    memcpy(tags + 71, "\"]]", 3);
    endseal_nostr_draft draft = {1000, 24133, tags, 74, payload, payload_len};
    written event;
    WRITTEN(event, endseal_nostr_sign(context, SECRET_ONE, &draft, out, out_cap, &out_len));
    char answer_text[1200];
    size_t len;
    CHECK(endseal_nostr_answer(context, &signer, (char *)event.text.start, event.len, answer_text,
                               sizeof answer_text, &len) == 0);
    CHECK(len > 400 && the_chip.decisions == 0 && is_wiped());
    /* No space for the answer, and then not even for an error. */
    CHECK(endseal_nostr_answer(context, &signer, (char *)event.text.start, event.len, answer_text,
                               20, &len) == ENDSEAL_NOSTR_TOO_SMALL && len > 400);
    for (size_t cut = 0; cut < event.len; cut += 5) {
        bytes part = copy(event.text.start, cut);
        CHECK(endseal_nostr_answer(context, &signer, (char *)part.start, cut, answer_text,
                                   sizeof answer_text, &len) == ENDSEAL_NOSTR_IGNORED);
        free(part.start);
    }
    /* Of another client, without the client's right, and at another time. */
    signer.client_count = 0;
    CHECK(endseal_nostr_answer(context, &signer, (char *)event.text.start, event.len, answer_text,
                               sizeof answer_text, &len) == ENDSEAL_NOSTR_IGNORED);
    signer.client_count = SIZE_MAX / 8;
    CHECK(endseal_nostr_answer(context, &signer, (char *)event.text.start, event.len, answer_text,
                               sizeof answer_text, &len) != ENDSEAL_NOSTR_OK);
    signer.client_count = 1;
    signer.decide = NULL;
    CHECK(endseal_nostr_answer(context, &signer, (char *)event.text.start, event.len, answer_text,
                               sizeof answer_text, &len) == ENDSEAL_NOSTR_ARGUMENT);
    free(event.text.start);
}

/* Requests of a paired client with bytes changed, removed and inserted. Each is answered or ignored,
 * and each answer is an authentic event. */
static void hostile_requests(void) {
    static const char *const REQUESTS[] = {
        "{\"id\":\"1\",\"method\":\"sign_event\",\"params\":[\"{\\\"kind\\\":1,\\\"created_at\\\":1,"
        "\\\"tags\\\":[[\\\"t\\\",\\\"\\\\u0041\\\"]],\\\"content\\\":\\\"a\\\"}\"]}",
        "{\"id\":\"2\",\"method\":\"nip44_encrypt\",\"params\":[\"c6047f9441ed7d6d3045406e95c07cd85c77"
        "8e4b8cef3ca7abac09b95c709ee5\",\"text\"]}",
        "{\"id\":\"3\",\"method\":\"connect\",\"params\":[\"\",\"\",null,\"{\\\"name\\\":\\\"x\\\"}\"]}",
        "{\"id\":\"4\",\"method\":\"nip04_decrypt\",\"params\":[\"c6047f9441ed7d6d3045406e95c07cd85c77"
        "8e4b8cef3ca7abac09b95c709ee5\",\"AAAAAAAAAAAAAAAAAAAAAA==?iv=AAAAAAAAAAAAAAAAAAAAAA==\"]}",
    };
    set_up(0);
    uint8_t peer[32], client[32];
    uint32_t state = 3;
    unsigned answered = 0;
    CHECK(endseal_nostr_public_key(context, SECRET_TWO, peer) == 0);
    CHECK(endseal_nostr_public_key(context, SECRET_ONE, client) == 0);
    endseal_nostr_signer signer = {SECRET_TWO, SECRET_TWO, client, 1, NULL, 0, 1000, 0,
                                   chip_decide};
    char tags[80] = "[[\"p\",\"";
    for (int i = 0; i < 32; i++) {
        snprintf(tags + 7 + 2 * i, 3, "%02x", peer[i]);
    }
    memcpy(tags + 71, "\"]]", 3);
    bytes answer_text = allocate(ENDSEAL_NOSTR_MAX_TEXT + 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        char text[400];
        size_t text_len = strlen(REQUESTS[round % 4]), len;
        memcpy(text, REQUESTS[round % 4], text_len);
        for (unsigned change = 0; change < round / 4 % 4; change++) {
            state = state * 1664525u + 1013904223u;
            size_t at = (state >> 8) % (text_len - 1);
            char byte = "\"\\{}[],:0a\n\x7f"[state >> 28 & 7];
            if ((state >> 4 & 3) == 0) {
                memmove(text + at, text + at + 1, text_len - at - 1);
                text_len--;
            } else if ((state >> 4 & 3) == 1) {
                memmove(text + at + 1, text + at, text_len - at);
                text[at] = byte;
                text_len++;
            } else {
                text[at] = byte;
            }
        }
        the_chip.decision = (int32_t)(round / 16 % 3);
        written payload, event;
        WRITTEN(payload, endseal_nostr_nip44_encrypt(context, SECRET_ONE, peer, text, text_len, out,
                                                     out_cap, &out_len));
        endseal_nostr_draft draft = {1000, 24133, tags, 74, (char *)payload.text.start, payload.len};
        WRITTEN(event, endseal_nostr_sign(context, SECRET_ONE, &draft, out, out_cap, &out_len));
        int32_t status = endseal_nostr_answer(context, &signer, (char *)event.text.start, event.len,
                                              (char *)answer_text.start, answer_text.len, &len);
        CHECK(status == ENDSEAL_NOSTR_OK || status == ENDSEAL_NOSTR_IGNORED);
        CHECK(is_wiped());
        if (status == ENDSEAL_NOSTR_OK) {
            answered++;
            CHECK(endseal_nostr_verify(context, (char *)answer_text.start, len, NULL) == 0);
        }
        free(payload.text.start);
        free(event.text.start);
    }
    CHECK(answered > ROUNDS / 5 && answered < ROUNDS && the_chip.decisions > ROUNDS / 8);
    free(answer_text.start);
}

int main(void) {
    context = malloc(sizeof *context);
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"arguments", arguments}, {"wiping", wiping},   {"callbacks", callbacks},
        {"aes", aes},             {"signing", signing}, {"hostile input", hostile},
        {"hostile requests", hostile_requests},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        unsigned before = failures;
        tests[i].run();
        if (failures != before) {
            say("FAILED: %s\n", tests[i].name);
        }
    }
    unsigned count = run_vectors();
    free(context);
    say("%s: %u vectors: %u opened, %u refused; %u checks, %u failures\n", machine_name, count,
        opened, refused, checks, failures);
    return failures != 0 || opened + refused != count || count == 0;
}
