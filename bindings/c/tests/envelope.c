// What a program does with the library, and what it does wrong.
#include "common.h"

#include <sys/wait.h>
#include <unistd.h>

static const uint8_t CONTEXT[] = "com.example.test 1";
static const char PASSPHRASE[] = "zu sp\xc3\xa4t f\xc3\xbcr Tee";

typedef struct {
    endseal_identity *ana, *ben, *eve;
    endseal_public_identity *of_ana, *of_ben;
    endseal_recipients *to;
    endseal_seal_options seal;
    endseal_open_options open;
} scene;

static scene make(void) {
    scene it = {0};
    OK(endseal_identity_generate(&it.ana));
    OK(endseal_identity_generate(&it.ben));
    OK(endseal_identity_generate(&it.eve));
    OK(endseal_identity_public(it.ana, &it.of_ana));
    OK(endseal_identity_public(it.ben, &it.of_ben));
    const endseal_public_identity *const of[] = {it.of_ben, it.of_ana, it.of_ben};
    OK(endseal_recipients_new(of, 3, &it.to));
    it.seal = (endseal_seal_options){
        .sender = it.ana, .recipients = it.to, .context = CONTEXT, .context_len = sizeof CONTEXT - 1};
    it.open = (endseal_open_options){
        .identity = it.ben, .context = CONTEXT, .context_len = sizeof CONTEXT - 1};
    return it;
}

static void drop(scene *it) {
    endseal_recipients_free(it->to);
    endseal_public_identity_free(it->of_ana);
    endseal_public_identity_free(it->of_ben);
    endseal_identity_free(it->ana);
    endseal_identity_free(it->ben);
    endseal_identity_free(it->eve);
}

static void messages(void) {
    scene it = make();
    REQUIRE(endseal_recipients_count(it.to) == 2);
    static const uint8_t said[] = "at noon";
    uint8_t envelope[8192], content[64];
    size_t len, needed, content_len = 7;
    it.seal.time = 1790000000000;
    OK(endseal_sealed_len(&it.seal, 7, &needed));
    REQUIRE(endseal_seal(&it.seal, said, 7, envelope, needed - 1, &len) == ENDSEAL_STATUS_BUFFER);
    REQUIRE(len == needed);
    OK(endseal_seal(&it.seal, said, 7, envelope, needed, &len));
    REQUIRE(len == needed);

    endseal_inspected inspected;
    OK(endseal_inspect(envelope, len, &inspected));
    REQUIRE(inspected.slots == 2 && inspected.content_len == 7);
    REQUIRE(inspected.suite == ENDSEAL_SUITE_HYBRID);

    endseal_info info;
    OK(endseal_open(&it.open, envelope, len, content, sizeof content, &content_len, &info));
    REQUIRE(content_len == 7 && memcmp(content, said, 7) == 0);
    REQUIRE(info.time == it.seal.time && info.suite == ENDSEAL_SUITE_HYBRID);
    uint8_t key[32];
    OK(endseal_public_identity_key(it.of_ana, &key));
    REQUIRE(memcmp(info.sender, key, 32) == 0);

    // Nothing is in a buffer that is too small, or after a refusal.
    memset(content, 0xaa, sizeof content);
    REQUIRE(endseal_open(&it.open, envelope, len, content, 6, &content_len, NULL) ==
            ENDSEAL_STATUS_BUFFER);
    REQUIRE(content_len == 7 && content[0] == 0xaa);
    // A change of another recipient's slot changes nothing for this one.
    int harmless = 0;
    for (size_t at = 0; at < len; at += 97) {
        envelope[at] ^= 1;
        if (endseal_open(&it.open, envelope, len, content, sizeof content, &content_len, NULL) ==
            ENDSEAL_STATUS_OK) {
            REQUIRE(content_len == 7 && memcmp(content, said, 7) == 0);
            memset(content, 0xaa, sizeof content);
            harmless++;
        }
        envelope[at] ^= 1;
    }
    REQUIRE(harmless < (int)(len * 2 / 3 / 97));
    for (size_t cut = 0; cut < len; cut += 61) {
        REQUIRE(endseal_open(&it.open, envelope, cut, content, sizeof content, &content_len,
                             NULL) != ENDSEAL_STATUS_OK);
    }
    REQUIRE(content[0] == 0xaa);
    endseal_open_options other = it.open;
    other.identity = it.eve;
    REQUIRE(endseal_open(&other, envelope, len, content, sizeof content, &content_len, NULL) ==
            ENDSEAL_STATUS_AUTHENTICATION);
    REQUIRE(strlen(endseal_last_error()) > 0);
    other = it.open;
    other.context_len -= 1;
    REQUIRE(endseal_open(&other, envelope, len, content, sizeof content, &content_len, NULL) ==
            ENDSEAL_STATUS_AUTHENTICATION);
    const endseal_public_identity *const senders[] = {it.of_ben};
    other = it.open;
    other.senders = senders;
    REQUIRE(endseal_open(&other, envelope, len, content, sizeof content, &content_len, NULL) ==
            ENDSEAL_STATUS_SENDER);
    other.sender_count = 1;
    REQUIRE(endseal_open(&other, envelope, len, content, sizeof content, &content_len, NULL) ==
            ENDSEAL_STATUS_SENDER);
    other = it.open;
    other.max_age = 1000;
    REQUIRE(endseal_open(&other, envelope, len, content, sizeof content, &content_len, NULL) ==
            ENDSEAL_STATUS_TOO_OLD);

    it.seal.suite = ENDSEAL_SUITE_X25519;
    it.seal.flags = ENDSEAL_SEAL_HIDE_COUNT;
    OK(endseal_seal(&it.seal, NULL, 0, envelope, sizeof envelope, &len));
    OK(endseal_open(&it.open, envelope, len, NULL, 0, &content_len, &info));
    REQUIRE(content_len == 0 && info.suite == ENDSEAL_SUITE_X25519 && info.time == it.seal.time);
    other = it.open;
    other.flags = ENDSEAL_OPEN_REQUIRE_POST_QUANTUM;
    REQUIRE(endseal_open(&other, envelope, len, NULL, 0, &content_len, &info) ==
            ENDSEAL_STATUS_SUITE);
    REQUIRE(strcmp(endseal_last_error(), "") != 0);
    OK(endseal_inspect(envelope, len, &inspected));
    REQUIRE(strcmp(endseal_last_error(), "") == 0);
    drop(&it);
}

static int give_up(void *user, const uint8_t *data, size_t len) {
    (void)user, (void)data, (void)len;
    return -1;
}

static void streams(void) {
    scene it = make();
    const size_t len = 5 << 20;
    uint8_t *content = malloc(len);
    REQUIRE(content != NULL);
    for (size_t at = 0; at < len; at++) content[at] = (uint8_t)(at * 31 >> 3);
    bytes envelope = {0}, opened = {0};
    endseal_seal_stream *sealing;
    OK(endseal_seal_stream_new(&it.seal, &sealing));
    // What an envelope is sealed for may be freed before it is whole.
    endseal_recipients_free(it.to);
    it.to = NULL;
    for (size_t at = 0; at < len; at += 777777) {
        size_t piece = len - at < 777777 ? len - at : 777777;
        OK(endseal_seal_stream_push(sealing, content + at, piece, append, &envelope));
    }
    OK(endseal_seal_stream_finish(sealing, append, &envelope));
    REQUIRE(endseal_seal_stream_finish(sealing, append, &envelope) == ENDSEAL_STATUS_ARGUMENT);
    REQUIRE(endseal_seal_stream_push(sealing, content, 1, append, &envelope) ==
            ENDSEAL_STATUS_ARGUMENT);
    endseal_seal_stream_free(sealing);

    endseal_open_stream *opening;
    endseal_info info;
    OK(endseal_open_stream_new(&it.open, &opening));
    REQUIRE(endseal_open_stream_info(opening, &info) == ENDSEAL_STATUS_ARGUMENT);
    OK(endseal_open_stream_feed(opening, envelope.data, envelope.len, append, &opened));
    OK(endseal_open_stream_finish(opening, append, &opened));
    OK(endseal_open_stream_info(opening, &info));
    endseal_open_stream_free(opening);
    REQUIRE(opened.len == len && memcmp(opened.data, content, len) == 0);

    // An envelope that was cut short is an error at its end, and changed ones give nothing changed.
    opened.len = 0;
    OK(endseal_open_stream_new(&it.open, &opening));
    OK(endseal_open_stream_feed(opening, envelope.data, envelope.len - 1, append, &opened));
    REQUIRE(endseal_open_stream_finish(opening, append, &opened) == ENDSEAL_STATUS_AUTHENTICATION);
    endseal_open_stream_free(opening);
    REQUIRE(opened.len < len && memcmp(opened.data, content, opened.len) == 0);
    opened.len = 0;
    envelope.data[envelope.len / 2] ^= 4;
    OK(endseal_open_stream_new(&it.open, &opening));
    endseal_status status =
        endseal_open_stream_feed(opening, envelope.data, envelope.len, append, &opened);
    if (status == ENDSEAL_STATUS_OK) status = endseal_open_stream_finish(opening, append, &opened);
    REQUIRE(status == ENDSEAL_STATUS_AUTHENTICATION);
    REQUIRE(memcmp(opened.data, content, opened.len) == 0);
    envelope.data[envelope.len / 2] ^= 4;
    endseal_open_stream_free(opening);

    // Output that was not taken is missing: the stream does not end well.
    OK(endseal_open_stream_new(&it.open, &opening));
    REQUIRE(endseal_open_stream_feed(opening, envelope.data, envelope.len, give_up, NULL) ==
            ENDSEAL_STATUS_WRITE);
    REQUIRE(endseal_open_stream_finish(opening, append, &opened) == ENDSEAL_STATUS_ARGUMENT);
    REQUIRE(endseal_open_stream_info(opening, &info) == ENDSEAL_STATUS_ARGUMENT);
    endseal_open_stream_free(opening);
    free(content);
    free(envelope.data);
    free(opened.data);
    drop(&it);
}

// A stream that seals after a failure, without a function for its output, and in another process.
static void broken_streams(void) {
    scene it = make();
    bytes envelope = {0};
    endseal_seal_stream *sealing;
    OK(endseal_seal_stream_new(&it.seal, &sealing));
    REQUIRE(endseal_seal_stream_push(sealing, CONTEXT, 3, give_up, NULL) == ENDSEAL_STATUS_WRITE);
    REQUIRE(endseal_seal_stream_push(sealing, CONTEXT, 3, append, &envelope) ==
            ENDSEAL_STATUS_ARGUMENT);
    REQUIRE(endseal_seal_stream_finish(sealing, append, &envelope) == ENDSEAL_STATUS_ARGUMENT);
    endseal_seal_stream_free(sealing);

    OK(endseal_seal_stream_new(&it.seal, &sealing));
    REQUIRE(endseal_seal_stream_push(sealing, CONTEXT, 3, NULL, NULL) == ENDSEAL_STATUS_ARGUMENT);
    REQUIRE(endseal_seal_stream_finish(sealing, NULL, NULL) == ENDSEAL_STATUS_ARGUMENT);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        bytes other = {0};
        _exit(endseal_seal_stream_push(sealing, CONTEXT, 3, append, &other) ==
                      ENDSEAL_STATUS_ARGUMENT &&
                  endseal_seal_stream_finish(sealing, append, &other) == ENDSEAL_STATUS_ARGUMENT &&
                  other.len == 0
              ? 0
              : 1);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(endseal_seal_stream_push(sealing, CONTEXT, 3, append, &envelope));
    OK(endseal_seal_stream_finish(sealing, append, &envelope));
    endseal_seal_stream_free(sealing);
    uint8_t content[64];
    size_t len;
    OK(endseal_open(&it.open, envelope.data, envelope.len, content, sizeof content, &len, NULL));
    REQUIRE(len == 3 && memcmp(content, CONTEXT, 3) == 0);
    free(envelope.data);
    drop(&it);
}

static void identities(void) {
    scene it = make();
    uint8_t text[ENDSEAL_IDENTITY_TEXT_MAX], file[ENDSEAL_IDENTITY_FILE_MAX];
    size_t len, file_len;
    endseal_public_identity *parsed;
    OK(endseal_public_identity_text(it.of_ben, text, sizeof text, &len));
    OK(endseal_public_identity_parse(text, len, &parsed));
    REQUIRE(endseal_public_identity_is_post_quantum(parsed) == 1);
    uint8_t key[32], same[32];
    OK(endseal_public_identity_key(parsed, &key));
    OK(endseal_public_identity_key(it.of_ben, &same));
    REQUIRE(memcmp(key, same, 32) == 0);
    endseal_public_identity_free(parsed);
    text[len / 2] ^= 1;
    REQUIRE(endseal_public_identity_parse(text, len, &parsed) == ENDSEAL_STATUS_ARGUMENT);
    REQUIRE(parsed == NULL);

    const uint8_t *words = (const uint8_t *)PASSPHRASE;
    const size_t words_len = sizeof PASSPHRASE - 1;
    endseal_identity *unlocked;
    OK(endseal_identity_lock(it.ben, words, words_len, file, sizeof file, &file_len));
    OK(endseal_identity_unlock(file, file_len, words, words_len, &unlocked));
    endseal_public_identity *public;
    OK(endseal_identity_public(unlocked, &public));
    OK(endseal_public_identity_key(public, &key));
    REQUIRE(memcmp(key, same, 32) == 0);
    endseal_public_identity_free(public);
    endseal_identity_free(unlocked);
    REQUIRE(endseal_identity_unlock(file, file_len, words, words_len - 1, &unlocked) ==
            ENDSEAL_STATUS_PASSPHRASE);
    REQUIRE(unlocked == NULL);
    REQUIRE(endseal_identity_unlock(file, file_len, NULL, 0, &unlocked) ==
            ENDSEAL_STATUS_PASSPHRASE);
    REQUIRE(endseal_identity_unlock(words, words_len, words, words_len, &unlocked) ==
            ENDSEAL_STATUS_HEADER);
    REQUIRE(endseal_identity_lock(it.ben, NULL, 0, file, sizeof file, &file_len) ==
            ENDSEAL_STATUS_ARGUMENT);
    REQUIRE(endseal_identity_lock(it.ben, words, 0, file, sizeof file, &file_len) ==
            ENDSEAL_STATUS_ARGUMENT);
    drop(&it);
}

// Every pointer that may not be null is null once.
static void null_pointers(void) {
    scene it = make();
    uint8_t buffer[8192], key[32];
    size_t len;
    endseal_info info;
    endseal_inspected inspected;
    endseal_identity *identity;
    endseal_public_identity *public;
    endseal_recipients *recipients;
    endseal_seal_stream *sealing;
    endseal_open_stream *opening;
    const endseal_public_identity *const none[] = {it.of_ana, NULL};
    endseal_seal_options seals[3] = {it.seal, it.seal, it.seal};
    seals[0].sender = NULL;
    seals[1].recipients = NULL;
    seals[2].context = NULL;
    endseal_open_options opens[3] = {it.open, it.open, it.open};
    opens[0].identity = NULL;
    opens[1].context = NULL;
    opens[2].senders = none;
    opens[2].sender_count = 2;
    for (int at = 0; at < 3; at++) {
        REQUIRE(endseal_seal(&seals[at], key, 1, buffer, sizeof buffer, &len) ==
                ENDSEAL_STATUS_ARGUMENT);
        REQUIRE(endseal_sealed_len(&seals[at], 1, &len) == ENDSEAL_STATUS_ARGUMENT);
        REQUIRE(endseal_seal_stream_new(&seals[at], &sealing) == ENDSEAL_STATUS_ARGUMENT);
        REQUIRE(sealing == NULL);
        REQUIRE(endseal_open(&opens[at], key, 1, buffer, sizeof buffer, &len, NULL) ==
                ENDSEAL_STATUS_ARGUMENT);
        REQUIRE(endseal_open_stream_new(&opens[at], &opening) == ENDSEAL_STATUS_ARGUMENT);
        REQUIRE(opening == NULL);
    }
    endseal_status calls[] = {
        endseal_identity_generate(NULL),
        endseal_identity_unlock(NULL, 1, NULL, 0, &identity),
        endseal_identity_unlock(NULL, 0, NULL, 0, NULL),
        endseal_identity_lock(NULL, key, 1, buffer, sizeof buffer, &len),
        endseal_identity_public(NULL, &public),
        endseal_identity_public(it.ana, NULL),
        endseal_public_identity_parse(NULL, 3, &public),
        endseal_public_identity_parse(NULL, 0, &public),
        endseal_public_identity_text(NULL, buffer, sizeof buffer, &len),
        endseal_public_identity_text(it.of_ana, buffer, sizeof buffer, NULL),
        endseal_public_identity_key(NULL, &key),
        endseal_public_identity_key(it.of_ana, NULL),
        endseal_recipients_new(NULL, 1, &recipients),
        endseal_recipients_new(NULL, 0, &recipients),
        endseal_recipients_new(none, 2, &recipients),
        endseal_recipients_new(none, SIZE_MAX, &recipients),
        endseal_sealed_len(NULL, 1, &len),
        endseal_sealed_len(&it.seal, 1, NULL),
        endseal_seal(NULL, key, 1, buffer, sizeof buffer, &len),
        endseal_seal(&it.seal, NULL, 1, buffer, sizeof buffer, &len),
        endseal_seal(&it.seal, key, 1, buffer, sizeof buffer, NULL),
        endseal_open(NULL, key, 1, buffer, sizeof buffer, &len, &info),
        endseal_open(&it.open, NULL, 1, buffer, sizeof buffer, &len, &info),
        endseal_inspect(NULL, 1, &inspected),
        endseal_seal_stream_new(NULL, &sealing),
        endseal_seal_stream_new(&it.seal, NULL),
        endseal_seal_stream_push(NULL, key, 1, append, NULL),
        endseal_seal_stream_finish(NULL, append, NULL),
        endseal_open_stream_new(NULL, &opening),
        endseal_open_stream_new(&it.open, NULL),
        endseal_open_stream_feed(NULL, key, 1, append, NULL),
        endseal_open_stream_finish(NULL, append, NULL),
        endseal_open_stream_info(NULL, &info),
    };
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
        if (calls[at] != ENDSEAL_STATUS_ARGUMENT) {
            fprintf(stderr, "call %zu: %s\n", at, endseal_status_name(calls[at]));
            exit(1);
        }
    }
    REQUIRE(endseal_seal(&it.seal, key, 1, NULL, 0, &len) == ENDSEAL_STATUS_BUFFER && len > 1);
    REQUIRE(endseal_seal(&it.seal, key, SIZE_MAX, buffer, sizeof buffer, &len) ==
            ENDSEAL_STATUS_ARGUMENT);
    REQUIRE(endseal_inspect(NULL, 0, &inspected) != ENDSEAL_STATUS_OK);
    REQUIRE(endseal_recipients_count(NULL) == 0);
    REQUIRE(endseal_public_identity_is_post_quantum(NULL) == 0);
    endseal_seal_options unknown = it.seal;
    unknown.suite = 9;
    REQUIRE(endseal_sealed_len(&unknown, 1, &len) == ENDSEAL_STATUS_ARGUMENT);
    unknown = it.seal;
    unknown.flags = 2;
    REQUIRE(endseal_sealed_len(&unknown, 1, &len) == ENDSEAL_STATUS_ARGUMENT);
    endseal_open_options odd = it.open;
    odd.flags = 2;
    REQUIRE(endseal_open(&odd, key, 1, buffer, sizeof buffer, &len, NULL) == ENDSEAL_STATUS_ARGUMENT);
    endseal_identity_free(NULL);
    endseal_public_identity_free(NULL);
    endseal_recipients_free(NULL);
    endseal_seal_stream_free(NULL);
    endseal_open_stream_free(NULL);
    drop(&it);
}

// With an argument, without the slow key derivation of identity files.
int main(int count, char **arguments) {
    (void)arguments;
    REQUIRE(endseal_abi_version() == ENDSEAL_ABI_VERSION);
    REQUIRE(strcmp(endseal_status_name(77), "unknown") == 0);
    messages();
    streams();
    broken_streams();
    if (count == 1) identities();
    null_pointers();
    puts("envelope: ok");
}
