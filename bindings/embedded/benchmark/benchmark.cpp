// The published benchmark of `lnbits/nsec-remote-signer` against endseal_nostr.h: its rows,
// columns, summary and thresholds. A row succeeds if the decrypted bytes equal the message.
//
// To change what is measured, change `run` at the end of this file.

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endseal_nostr.h"
#include "machine.h"

namespace {

constexpr size_t SIZES[] = {16, 64, 256, 1024, 4096, 8192};
constexpr size_t LONGEST = 8192;
constexpr size_t TEXT = ENDSEAL_NOSTR_MAX_TEXT + 1;

// Thresholds of the published benchmark.
constexpr uint64_t AES_BYTES_A_SECOND = 10000;
constexpr uint64_t NIP44_BYTES_A_SECOND = 3000;
constexpr size_t HEAP_BYTES = 500;
// What README.md tells a caller to have.
constexpr size_t STACK_BYTES = 12288;

void say(const char *format, ...) {
    char text[300];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    size_t most = sizeof text - 1;
    machine_write(text, static_cast<size_t>(len) < most ? static_cast<size_t>(len) : most);
}

// ---- the heap: each use of malloc by this program or by the library is counted ----

struct Heap {
    size_t in_use, peak, calls;
} heap;

}  // namespace

extern "C" {
void *__real_malloc(size_t len);
void __real_free(void *start);

// Keeps the length in front of the bytes.
void *__wrap_malloc(size_t len) {
    auto *start = static_cast<size_t *>(__real_malloc(len + 16));
    if (!start) {
        return nullptr;
    }
    *start = len;
    heap.calls++;
    heap.in_use += len;
    heap.peak = heap.in_use > heap.peak ? heap.in_use : heap.peak;
    return start + 16 / sizeof(size_t);
}

void __wrap_free(void *bytes) {
    if (bytes) {
        auto *start = static_cast<size_t *>(bytes) - 16 / sizeof(size_t);
        heap.in_use -= *start;
        __real_free(start);
    }
}
}

namespace {

// Length of the largest piece that malloc can give.
size_t largest_free() {
    size_t largest = 0;
    for (size_t step = size_t{1} << 22; step; step >>= 1) {
        if (void *piece = __real_malloc(largest + step)) {
            __real_free(piece);
            largest += step;
        }
    }
    return largest;
}

// ---- the library ----

endseal_nostr context;
uint32_t random_state = 1;
// The longest step between two calls of the watchdog function, in instructions.
uint64_t longest_step;
uint32_t step_mark;
bool in_call;

// Choices that repeat. A program for a chip takes its hardware's random source.
int32_t random_bytes(void *, uint8_t *out, size_t len) {
    for (size_t i = 0; i < len; i++) {
        random_state = random_state * 1664525u + 1013904223u;
        out[i] = static_cast<uint8_t>(random_state >> 24);
    }
    return 0;
}

void between_steps(void *) {
    if (in_call) {
        uint64_t step = machine_since(step_mark);
        longest_step = step > longest_step ? step : longest_step;
    }
    in_call = true;
    step_mark = machine_mark();
}

const uint8_t OWN[32] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                         0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
const uint8_t OTHER[32] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
const uint8_t AES_KEY[32] = {42};
const uint8_t AES_IV[16] = {7};
uint8_t own_public[32], other_public[32], conversation_key[32];

char message[LONGEST];
char sealed[TEXT], opened[TEXT], event[TEXT], answer[TEXT];
size_t sealed_len, opened_len, event_len, answer_len;
uint8_t buffer[LONGEST + 16];

bool is_message(const void *text, size_t len, size_t bytes) {
    return len == bytes && memcmp(text, message, bytes) == 0;
}

bool fails(int32_t status) {
    if (status != ENDSEAL_NOSTR_OK) {
        say("  %s\n", endseal_nostr_status_text(status));
    }
    return status != ENDSEAL_NOSTR_OK;
}

// ---- rows ----

struct Row {
    char name[40];
    uint64_t instructions;
    uint64_t throughput;  // hundredths of a byte a second
    size_t heap_peak;
    bool passed;
};

Row fastest, slowest;
size_t greatest_stack, greatest_heap;
// Bytes by which the largest free piece became shorter after 10 and 10,000 operations.
size_t largest_loss;
bool all_passed = true;
// Least bytes a second of AES, of NIP-44 from 16 and from 64 bytes on, and with a cached key.
uint64_t least_aes = UINT64_MAX, least_nip44 = UINT64_MAX, least_nip44_64 = UINT64_MAX;
uint64_t least_cached = UINT64_MAX;

// Clock of the estimate in cycles a second, with 1.0 cycle for each instruction.
uint64_t clock_rate() {
    return static_cast<uint64_t>(machine_mhz) * 1000000;
}

void print(Row &row, size_t bytes) {
    uint64_t instructions = row.instructions ? row.instructions : 1;
    row.throughput = bytes * clock_rate() / instructions * 100 +
                     bytes * clock_rate() % instructions * 100 / instructions;
    uint64_t micros = instructions / machine_mhz;
    say("%-28s | %7u | %4u.%03u | %7u | %12u.%02u | %s\n", row.name, static_cast<unsigned>(bytes),
        static_cast<unsigned>(micros / 1000), static_cast<unsigned>(micros % 1000),
        static_cast<unsigned>(row.heap_peak), static_cast<unsigned>(row.throughput / 100),
        static_cast<unsigned>(row.throughput % 100), row.passed ? "PASS" : "FAIL");
    // The same for docs/bench/embedded.tsv.
    say("#row\t%s\t%s\t%u\t%u.%03u\t%u\t%u\t%s\n", machine_isa, row.name,
        static_cast<unsigned>(bytes), static_cast<unsigned>(micros / 1000),
        static_cast<unsigned>(micros % 1000), static_cast<unsigned>(row.heap_peak),
        static_cast<unsigned>(row.throughput / 100), row.passed ? "PASS" : "FAIL");
    all_passed = all_passed && row.passed;
    greatest_heap = row.heap_peak > greatest_heap ? row.heap_peak : greatest_heap;
    if (!fastest.instructions || row.throughput > fastest.throughput) {
        fastest = row;
    }
    if (!slowest.instructions || row.throughput < slowest.throughput) {
        slowest = row;
    }
}

// Measures one operation and prints its row. Where a tick of the counter is many instructions, it
// is repeated.
template <typename Prepare, typename Run, typename Check>
Row measure(const char *name, size_t bytes, size_t row_bytes, Prepare prepare, Run run,
            Check check) {
    Row row = {};
    snprintf(row.name, sizeof row.name, "%s", name);
    unsigned times = machine_tick == 1 ? 1 : 8;
    heap.peak = heap.in_use;
    size_t heap_before = heap.in_use;
    row.passed = true;
    for (unsigned i = 0; i < times; i++) {
        prepare(bytes);
        in_call = false;
        if (i == 0) {
            machine_paint_stack();
        }
        uint32_t mark = machine_mark();
        bool failed = run(bytes);
        row.instructions += machine_since(mark);
        if (i == 0) {
            size_t stack = machine_used_stack();
            greatest_stack = stack > greatest_stack ? stack : greatest_stack;
        }
        row.passed = row.passed && !failed && check(bytes);
    }
    row.instructions /= times;
    row.heap_peak = heap.peak - heap_before;
    row.passed = row.passed && heap.in_use == heap_before;
    print(row, row_bytes);
    return row;
}

template <typename Prepare, typename Run, typename Check>
void sizes(const char *name, const char *suffix, Prepare prepare, Run run, Check check,
           uint64_t *least, uint64_t *least_64) {
    for (size_t bytes : SIZES) {
        char title[40];
        snprintf(title, sizeof title, "%s %uB%s", name, static_cast<unsigned>(bytes), suffix);
        Row row = measure(title, bytes, bytes, prepare, run, check);
        uint64_t found = row.throughput / 100;
        if (least && found < *least) {
            *least = found;
        }
        if (least_64 && bytes >= 64 && found < *least_64) {
            *least_64 = found;
        }
    }
}

void nothing(size_t) {
}

// AES-256-CBC, raw.
size_t aes_len;
void aes_load(size_t bytes) {
    memcpy(buffer, message, bytes);
}
bool aes_encrypt(size_t bytes) {
    return fails(endseal_nostr_aes256_cbc_encrypt(&context, AES_KEY, AES_IV, buffer, bytes,
                                                  sizeof buffer, &aes_len));
}
bool aes_decrypt(size_t) {
    return fails(
        endseal_nostr_aes256_cbc_decrypt(&context, AES_KEY, AES_IV, buffer, aes_len, &aes_len));
}
bool aes_opens(size_t bytes) {
    return !aes_decrypt(bytes) && is_message(buffer, aes_len, bytes);
}

// Encryption of a text, with the key derived each time or with the conversation key.
bool nip04_encrypt(size_t bytes) {
    return fails(endseal_nostr_nip04_encrypt(&context, OWN, other_public, message, bytes, sealed,
                                             sizeof sealed, &sealed_len));
}
bool nip04_decrypt(size_t) {
    return fails(endseal_nostr_nip04_decrypt(&context, OTHER, own_public, sealed, sealed_len,
                                             opened, sizeof opened, &opened_len));
}
bool nip44_encrypt(size_t bytes) {
    return fails(endseal_nostr_nip44_encrypt(&context, OWN, other_public, message, bytes, sealed,
                                             sizeof sealed, &sealed_len));
}
bool nip44_decrypt(size_t) {
    return fails(endseal_nostr_nip44_decrypt(&context, OTHER, own_public, sealed, sealed_len,
                                             opened, sizeof opened, &opened_len));
}
bool cached_encrypt(size_t bytes) {
    return fails(endseal_nostr_nip44_encrypt_with(&context, conversation_key, message, bytes,
                                                  sealed, sizeof sealed, &sealed_len));
}
bool cached_decrypt(size_t) {
    return fails(endseal_nostr_nip44_decrypt_with(&context, conversation_key, sealed, sealed_len,
                                                  opened, sizeof opened, &opened_len));
}
// Prepares and checks by the other direction.
template <bool (*ENCRYPT)(size_t)>
void seal(size_t bytes) {
    if (ENCRYPT(bytes)) {
        all_passed = false;
    }
    memset(opened, 0, sizeof opened);
}
template <bool (*DECRYPT)(size_t)>
bool opens(size_t bytes) {
    memset(opened, 0, sizeof opened);
    return !DECRYPT(bytes) && is_message(opened, opened_len, bytes);
}
bool is_opened(size_t bytes) {
    return is_message(opened, opened_len, bytes);
}

// The full flow: JSON of an event whose content is encrypted, verified, decrypted.
template <bool (*ENCRYPT)(size_t), uint16_t KIND>
void wrap(size_t bytes) {
    endseal_nostr_draft draft = {1234567890, KIND, nullptr, 0, sealed, 0};
    if (ENCRYPT(bytes)) {
        all_passed = false;
    }
    draft.content_len = sealed_len;
    if (fails(endseal_nostr_sign(&context, OWN, &draft, event, sizeof event, &event_len))) {
        all_passed = false;
    }
    memset(sealed, 0, sizeof sealed);
}
template <bool (*DECRYPT)(size_t)>
bool unwrap(size_t bytes) {
    uint8_t author[32];
    if (fails(endseal_nostr_verify(&context, event, event_len, author)) ||
        memcmp(author, own_public, 32) != 0) {
        return true;
    }
    static const char MARK[] = "\"content\":\"";
    const char *start = strstr(event, MARK);
    const char *end = start ? strchr(start + sizeof MARK - 1, '"') : nullptr;
    if (!end) {
        return true;
    }
    start += sizeof MARK - 1;
    sealed_len = static_cast<size_t>(end - start);
    memcpy(sealed, start, sealed_len);
    return DECRYPT(bytes);
}

// A request of NIP-46 to sign an event, answered.
const uint64_t NOW = 1700000000;
int32_t allow(void *, const endseal_nostr_request *) {
    return ENDSEAL_NOSTR_ALLOW;
}
void request(size_t bytes) {
    char *json = opened;
    int len = snprintf(json, sizeof opened,
                       "{\"id\":\"r1\",\"method\":\"sign_event\",\"params\":[\"{\\\"kind\\\":1,"
                       "\\\"created_at\\\":1700000000,\\\"tags\\\":[],\\\"content\\\":\\\"%.*s\\\"}\"]}",
                       static_cast<int>(bytes), message);
    char tags[80] = "[[\"p\",\"";
    for (int i = 0; i < 32; i++) {
        snprintf(tags + 7 + 2 * i, 3, "%02x", own_public[i]);
    }
    memcpy(tags + 71, "\"]]", 3);
    int32_t status = endseal_nostr_nip44_encrypt(&context, OTHER, own_public, json,
                                                 static_cast<size_t>(len), sealed, sizeof sealed,
                                                 &sealed_len);
    endseal_nostr_draft draft = {NOW, 24133, tags, 74, sealed, sealed_len};
    if (fails(status) ||
        fails(endseal_nostr_sign(&context, OTHER, &draft, event, sizeof event, &event_len))) {
        all_passed = false;
    }
}
bool answer_request(size_t) {
    endseal_nostr_signer signer = {};
    signer.user_key = OWN;
    signer.transport_key = OWN;
    signer.clients = other_public;
    signer.client_count = 1;
    signer.now = NOW;
    signer.decide = allow;
    return fails(endseal_nostr_answer(&context, &signer, event, event_len, answer, sizeof answer,
                                      &answer_len));
}
// Reads the answer as the client does, and verifies the event in it.
bool is_answered(size_t bytes) {
    memcpy(event, answer, answer_len + 1);
    event_len = answer_len;
    if (unwrap<nip44_decrypt>(bytes)) {
        return false;
    }
    char *signed_event = strchr(opened + 1, '{');
    size_t len = 0;
    for (char *c = signed_event; c && *c; c++) {
        // Without escapes: there are quotes alone.
        if (*c != '\\') {
            signed_event[len++] = *c;
        }
    }
    return len > 3 && endseal_nostr_verify(&context, signed_event, len - 2, nullptr) == 0;
}

// Encrypts and decrypts in memory of malloc whose length varies, with a piece that stays between
// two that are freed. Passes if each round gives its message, if all is freed, and if the largest
// free piece is as large as before.
void fragmentation(unsigned rounds) {
    Row row = {};
    snprintf(row.name, sizeof row.name, "Memory Fragmentation %ux", rounds);
    size_t heap_before = heap.in_use, largest_before = largest_free();
    row.passed = true;
    uint64_t bytes = 0;
    size_t calls_of_library = 0;
    for (unsigned round = 0; round < rounds; round++) {
        size_t len = 16 + round * 37 % 113;
        size_t cap = endseal_nostr_nip44_len(len) + 1;
        auto *payload = static_cast<char *>(malloc(cap));
        auto *text = static_cast<char *>(malloc(len + 1));
        size_t payload_len = 0, text_len = 0, before = heap.in_use, calls = heap.calls;
        heap.peak = before;
        in_call = false;
        uint32_t mark = machine_mark();
        bool failed = fails(endseal_nostr_nip44_encrypt_with(&context, conversation_key, message,
                                                             len, payload, cap, &payload_len)) ||
                      fails(endseal_nostr_nip44_decrypt_with(&context, conversation_key, payload,
                                                             payload_len, text, len + 1, &text_len));
        row.instructions += machine_since(mark);
        calls_of_library += heap.calls - calls;
        row.heap_peak = heap.peak - before > row.heap_peak ? heap.peak - before : row.heap_peak;
        row.passed = row.passed && !failed && is_message(text, text_len, len);
        free(payload);
        free(text);
        bytes += 2 * len;
    }
    size_t largest_after = largest_free();
    row.passed = row.passed && heap.in_use == heap_before && largest_after == largest_before;
    largest_loss += largest_before > largest_after ? largest_before - largest_after : 0;
    print(row, static_cast<size_t>(bytes));
    say("  largest free piece: %u bytes before, %u after; uses of malloc by the library: %u\n",
        static_cast<unsigned>(largest_before), static_cast<unsigned>(largest_after),
        static_cast<unsigned>(calls_of_library));
}

bool verdict(const char *what, uint64_t found, const char *relation, uint64_t bound, bool holds) {
    say("%s: %lu %s %lu: %s\n", what, static_cast<unsigned long>(found), relation,
        static_cast<unsigned long>(bound), holds ? "reached" : "MISSED");
    say("#verdict\t%s\t%s\t%lu\t%s %lu\t%s\n", machine_isa, what,
        static_cast<unsigned long>(found), relation, static_cast<unsigned long>(bound),
        holds ? "reached" : "missed");
    return holds;
}

bool run() {
    for (size_t i = 0; i < LONGEST; i++) {
        message[i] = static_cast<char>('a' + i % 26);
    }
    endseal_nostr_callbacks callbacks = {nullptr, random_bytes, between_steps, nullptr};
    if (fails(endseal_nostr_init(&context, sizeof context, &callbacks)) ||
        fails(endseal_nostr_public_key(&context, OWN, own_public)) ||
        fails(endseal_nostr_public_key(&context, OTHER, other_public)) ||
        fails(endseal_nostr_conversation_key(&context, OWN, other_public, conversation_key))) {
        return false;
    }
    say("\n=== Nostr Encryption/Decryption Benchmark ===\n");
    say("Machine: %s. Context: %u bytes, static.\n", machine_name,
        static_cast<unsigned>(sizeof context));
    say("\n=== BENCHMARK SUMMARY ===\n");
    say("Time is estimated: instructions at %u MHz (%s) and 1.0 cycle each.\n",
        static_cast<unsigned>(machine_mhz), machine_chip);
    say("\"cached\" rows keep the conversation key, the others derive it for each message.\n");
    say("Test Name                    | Size    | Time(ms) | Heap(B) | Throughput(B/s) | Success\n");
    say("----------------------------|---------|----------|---------|-----------------|--------\n");
    sizes("AES Encrypt", "", aes_load, aes_encrypt, aes_opens, &least_aes, nullptr);
    sizes("AES Decrypt", "", [](size_t bytes) {
        aes_load(bytes);
        aes_encrypt(bytes);
    }, aes_decrypt, [](size_t bytes) { return is_message(buffer, aes_len, bytes); }, &least_aes,
          nullptr);
    sizes("NIP04 Encrypt", "", nothing, nip04_encrypt, opens<nip04_decrypt>, nullptr, nullptr);
    sizes("NIP04 Decrypt", "", seal<nip04_encrypt>, nip04_decrypt, is_opened, nullptr, nullptr);
    sizes("NIP44 Encrypt", "", nothing, nip44_encrypt, opens<nip44_decrypt>, &least_nip44,
          &least_nip44_64);
    sizes("NIP44 Decrypt", "", seal<nip44_encrypt>, nip44_decrypt, is_opened, &least_nip44,
          &least_nip44_64);
    sizes("NIP44 Encrypt", " cached", nothing, cached_encrypt, opens<cached_decrypt>,
          &least_cached, nullptr);
    sizes("NIP44 Decrypt", " cached", seal<cached_encrypt>, cached_decrypt, is_opened,
          &least_cached, nullptr);
    measure("NIP04 Full Decrypt 1KB", 1024, 1024, wrap<nip04_encrypt, 4>, unwrap<nip04_decrypt>,
            is_opened);
    measure("NIP44 Full Decrypt 1KB", 1024, 1024, wrap<nip44_encrypt, 24133>,
            unwrap<nip44_decrypt>, is_opened);
    measure("NIP46 sign_event 1KB", 1024, 1024, request, answer_request, is_answered);
    fragmentation(10);
    fragmentation(10000);

    say("\n=== ANALYSIS ===\n");
    say("Fastest operation: %s (%u.%02u B/s)\n", fastest.name,
        static_cast<unsigned>(fastest.throughput / 100),
        static_cast<unsigned>(fastest.throughput % 100));
    say("Slowest operation: %s (%u.%02u B/s)\n", slowest.name,
        static_cast<unsigned>(slowest.throughput / 100),
        static_cast<unsigned>(slowest.throughput % 100));
    uint64_t ratio = fastest.throughput * 100 / (slowest.throughput ? slowest.throughput : 1);
    say("Performance ratio: %u.%02ux\n", static_cast<unsigned>(ratio / 100),
        static_cast<unsigned>(ratio % 100));
    say("Greatest stack of a call: %u bytes\n", static_cast<unsigned>(greatest_stack));
    say("#stack\t%s\t%u\n", machine_isa, static_cast<unsigned>(greatest_stack));
    say("Longest step between two calls of the watchdog: %u instructions\n",
        static_cast<unsigned>(longest_step));
    say("Final heap: %u bytes in use\n", static_cast<unsigned>(heap.in_use));

    say("\n=== THRESHOLDS ===\n");
    verdict("AES in B/s", least_aes, ">", AES_BYTES_A_SECOND, least_aes > AES_BYTES_A_SECOND);
    verdict("NIP-44 of 16 B in B/s", least_nip44, ">", NIP44_BYTES_A_SECOND,
            least_nip44 > NIP44_BYTES_A_SECOND);
    verdict("NIP-44 from 64 B in B/s", least_nip44_64, ">", NIP44_BYTES_A_SECOND,
            least_nip44_64 > NIP44_BYTES_A_SECOND);
    verdict("NIP-44 with a cached key in B/s", least_cached, ">", NIP44_BYTES_A_SECOND,
            least_cached > NIP44_BYTES_A_SECOND);
    bool no_heap = verdict("Heap of an operation in B", greatest_heap, "<", HEAP_BYTES,
                           greatest_heap < HEAP_BYTES);
    bool few = verdict("Stack of a call in B", greatest_stack, "<", STACK_BYTES,
                       greatest_stack < STACK_BYTES);
    bool unbroken = verdict("Loss of the largest free piece in B", largest_loss, "<", 1,
                            largest_loss == 0);
    return all_passed && no_heap && few && unbroken;
}

}  // namespace

int main() {
    bool passed = run();
    say("== %s: %s\n", machine_name, passed ? "passed" : "FAILED");
    return passed ? 0 : 1;
}
