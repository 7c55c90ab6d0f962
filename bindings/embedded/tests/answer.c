/* A signer on standard input and output, for a client of another library: reads one event a line
 * and writes its answer, or an empty line. Arguments: secret keys of user and signer, the time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endseal_nostr.h"

static uint8_t clients[32];
static size_t client_count;
static uint8_t new_client[32];
static int is_new;

static int32_t random_bytes(void *user, uint8_t *out, size_t len) {
    return fread(out, 1, len, (FILE *)user) == len ? 0 : -1;
}

/* Allows all but events of kind 4. */
static int32_t decide(void *user, const endseal_nostr_request *request) {
    (void)user;
    fprintf(stderr, "%s %d: %.*s\n", request->method_name, (int)request->kind,
            (int)request->shown_len, request->shown);
    if (request->method == ENDSEAL_NOSTR_CONNECT) {
        memcpy(new_client, request->client, 32);
        is_new = 1;
    }
    return request->kind == 4 ? ENDSEAL_NOSTR_REFUSE : ENDSEAL_NOSTR_ALLOW;
}

static void unhex(const char *text, uint8_t *out) {
    for (int i = 0; i < 32; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

int main(int count, char **arguments) {
    static endseal_nostr context;
    static char event[ENDSEAL_NOSTR_MAX_TEXT + 2], answer[ENDSEAL_NOSTR_MAX_TEXT + 1];
    uint8_t user[32], transport[32];
    if (count != 4 || strlen(arguments[1]) != 64 || strlen(arguments[2]) != 64) {
        return 2;
    }
    unhex(arguments[1], user);
    unhex(arguments[2], transport);
    FILE *random = fopen("/dev/urandom", "rb");
    endseal_nostr_callbacks callbacks = {random, random_bytes, NULL, NULL};
    if (!random || endseal_nostr_init(&context, sizeof context, &callbacks) != 0) {
        return 1;
    }
    while (fgets(event, sizeof event, stdin)) {
        endseal_nostr_signer signer = {
            user,   transport,    clients,   client_count,
            "s3cret", client_count ? 0 : 6, strtoull(arguments[3], NULL, 10), 0, decide};
        size_t len;
        int32_t status = endseal_nostr_answer(&context, &signer, event, strcspn(event, "\n"), answer,
                                              sizeof answer, &len);
        if (status != ENDSEAL_NOSTR_OK) {
            fprintf(stderr, "%s\n", endseal_nostr_status_text(status));
        } else if (is_new) {
            memcpy(clients, new_client, 32);
            client_count = 1;
            is_new = 0;
        }
        puts(answer);
        fflush(stdout);
    }
    fclose(random);
    return 0;
}
