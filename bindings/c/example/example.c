#include <endseal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(endseal_status status) {
    if (status != ENDSEAL_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", endseal_status_name(status), endseal_last_error());
        exit(1);
    }
}

int main(void) {
    const uint8_t context[] = "com.example.notes 1";
    endseal_identity *ana, *ben;
    endseal_public_identity *of_ben;
    endseal_recipients *to;
    check(endseal_identity_generate(&ana));
    check(endseal_identity_generate(&ben));
    check(endseal_identity_public(ben, &of_ben));
    check(endseal_recipients_new((const endseal_public_identity *const[]){of_ben}, 1, &to));

    uint8_t envelope[4096], content[4096];
    size_t envelope_len, content_len;
    endseal_seal_options seal = {.sender = ana, .recipients = to,
                                 .context = context, .context_len = sizeof context - 1};
    check(endseal_seal(&seal, (const uint8_t *)"at noon", 7, envelope, sizeof envelope,
                       &envelope_len));

    endseal_info info;
    endseal_open_options open = {.identity = ben,
                                 .context = context, .context_len = sizeof context - 1};
    check(endseal_open(&open, envelope, envelope_len, content, sizeof content, &content_len,
                       &info));
    printf("%.*s\n", (int)content_len, content);

    endseal_recipients_free(to);
    endseal_public_identity_free(of_ben);
    endseal_identity_free(ben);
    endseal_identity_free(ana);
}
