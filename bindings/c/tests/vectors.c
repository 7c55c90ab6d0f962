// Opens every vector of docs/spec/envelope.md, in memory and as a stream. The standard input is
// written by vectors.py.
#include "common.h"

// Not in the header: the library is built with the feature test-vectors.
endseal_status endseal_identity_from_seeds(const uint8_t (*ed25519)[32], const uint8_t (*mlkem768)[64],
                                           endseal_identity **made);

static size_t read_hex(const char *text, uint8_t *to, size_t capacity) {
    size_t len = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
    REQUIRE(len <= capacity);
    for (size_t at = 0; at < len; at++) {
        unsigned value;
        REQUIRE(sscanf(text + 2 * at, "%2x", &value) == 1);
        to[at] = (uint8_t)value;
    }
    return len;
}

static bytes read_file(const char *path) {
    bytes read = {0};
    uint8_t piece[65536];
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    for (size_t len; (len = fread(piece, 1, sizeof piece, file)) > 0;) append(&read, piece, len);
    fclose(file);
    return read;
}

static endseal_status open_stream(const endseal_open_options *options, const bytes *envelope,
                                  bytes *content, endseal_info *info) {
    endseal_open_stream *stream;
    endseal_status status = endseal_open_stream_new(options, &stream);
    // Pieces of another length each.
    for (size_t at = 0, len = 1; status == ENDSEAL_STATUS_OK && at < envelope->len; at += len) {
        len = (len * 7 + 3) % 1000003;
        if (len > envelope->len - at) len = envelope->len - at;
        status = endseal_open_stream_feed(stream, envelope->data + at, len, append, content);
    }
    if (status == ENDSEAL_STATUS_OK) status = endseal_open_stream_finish(stream, append, content);
    if (status == ENDSEAL_STATUS_OK) status = endseal_open_stream_info(stream, info);
    endseal_open_stream_free(stream);
    return status;
}

int main(void) {
    static const char *const suites[] = {"x25519-mlkem768", "x25519", "x25519-compact"};
    char *line = NULL;
    size_t capacity = 0;
    int opened = 0, refused = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        char *row[11] = {0}, *rest = line;
        for (int at = 0; at < 11 && (row[at] = strtok_r(rest, " \n", &rest)) != NULL; at++) {}
        bytes envelope = read_file(row[1]), streamed = {0};
        uint8_t context[2048], ed25519[32], mlkem768[64];
        size_t context_len = read_hex(row[2], context, sizeof context), content_len;
        read_hex(row[3], ed25519, sizeof ed25519);
        read_hex(row[4], mlkem768, sizeof mlkem768);
        endseal_identity *identity;
        OK(endseal_identity_from_seeds((const uint8_t(*)[32])ed25519,
                                       (const uint8_t(*)[64])mlkem768, &identity));
        endseal_open_options options = {
            .identity = identity, .context = context, .context_len = context_len};
        endseal_info info, of_stream;
        uint8_t *content = malloc(envelope.len + 1);
        REQUIRE(content != NULL);
        endseal_status status = endseal_open(&options, envelope.data, envelope.len, content,
                                             envelope.len, &content_len, &info);
        endseal_status by_stream = open_stream(&options, &envelope, &streamed, &of_stream);
        const char *expected = row[0];
        if (strcmp(endseal_status_name(status), expected) != 0 || by_stream != status) {
            fprintf(stderr, "%s: %s, as a stream %s, not %s\n", row[1], endseal_status_name(status),
                    endseal_status_name(by_stream), expected);
            return 1;
        }
        if (status == ENDSEAL_STATUS_OK) {
            uint8_t sender[32], message_id[16];
            read_hex(row[6], sender, sizeof sender);
            read_hex(row[7], message_id, sizeof message_id);
            for (int way = 0; way < 2; way++) {
                const endseal_info *known = way == 0 ? &info : &of_stream;
                REQUIRE(strcmp(suites[known->suite], row[5]) == 0);
                REQUIRE(memcmp(known->sender, sender, sizeof sender) == 0);
                REQUIRE(memcmp(known->message_id, message_id, sizeof message_id) == 0);
                REQUIRE(known->time == strtoull(row[8], NULL, 10));
            }
            REQUIRE(content_len == strtoull(row[9], NULL, 10) && streamed.len == content_len);
            REQUIRE(content_len == 0 || memcmp(content, streamed.data, content_len) == 0);
            if (row[10] != NULL && strcmp(row[10], "-") != 0) {
                uint8_t *said = malloc(content_len + 1);
                REQUIRE(said != NULL && read_hex(row[10], said, content_len) == content_len);
                REQUIRE(memcmp(content, said, content_len) == 0);
                free(said);
            }
            opened++;
        } else {
            refused++;
        }
        free(content);
        free(envelope.data);
        free(streamed.data);
        endseal_identity_free(identity);
    }
    free(line);
    printf("%d vectors: %d opened, %d refused\n", opened + refused, opened, refused);
    return opened == 28 && refused == 69 ? 0 : 1;
}
