// endseal: encrypts messages and files for many recipients, signed, recipients hidden.
// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Written by bindings/c/tests/header.rs. README.md has an example.
//
// Handles are made by functions with the name new, generate, unlock, parse or public, and freed by
// free. A handle is null if its function failed. Identities, public identities and recipients may be
// used by many threads at once; a stream by one at a time. No function keeps a pointer of the
// caller: what a handle or a stream was made of may be freed. After fork, a stream that seals works
// in the process that made it alone.
//
// Pointers point to what their types say, and lengths are those of what is pointed to. A null
// pointer with the length 0 stands for no bytes. Outputs take the length that was used or, with
// ENDSEAL_STATUS_BUFFER, the one that is needed; the buffer then has nothing. Input and output do
// not overlap.

#ifndef ENDSEAL_H
#define ENDSEAL_H

#include <stddef.h>
#include <stdint.h>

// A person's secret keys.
typedef struct endseal_identity endseal_identity;
// A person's public keys.
typedef struct endseal_public_identity endseal_public_identity;
// Those who can open an envelope.
typedef struct endseal_recipients endseal_recipients;

// Version of this interface. It changes when a program has to be compiled anew.
#define ENDSEAL_ABI_VERSION 1

// Greatest length of the text of a public identity in bytes.
#define ENDSEAL_IDENTITY_TEXT_MAX 2064

// Greatest length of an identity file in bytes.
#define ENDSEAL_IDENTITY_FILE_MAX 4096

// Refuses envelopes that are not post-quantum.
#define ENDSEAL_OPEN_REQUIRE_POST_QUANTUM 1

// Suite of an envelope that stays secret when quantum computers exist.
#define ENDSEAL_SUITE_HYBRID 0

// Suite of an envelope for recipients without a post-quantum key, in which a recipient costs 40
// bytes.
#define ENDSEAL_SUITE_X25519 1

// Suite of an envelope that others made: X25519 in a compact form. It is not for sealing.
#define ENDSEAL_SUITE_X25519_COMPACT 2

// Hides the number of recipients among slots that no one can open.
#define ENDSEAL_SEAL_HIDE_COUNT 1

// Result of a call. Numbers do not change, and later versions may have more.
typedef enum endseal_status {
    // The call succeeded.
    ENDSEAL_STATUS_OK = 0,
    // A fault of the caller: a null pointer, a context, recipients, a suite or a call that cannot
    // be.
    ENDSEAL_STATUS_ARGUMENT = 1,
    // The bytes are no envelope, or no identity file.
    ENDSEAL_STATUS_HEADER = 2,
    // The envelope is of another version of the format.
    ENDSEAL_STATUS_VERSION = 3,
    // The envelope exceeds a limit of the format.
    ENDSEAL_STATUS_LIMIT = 4,
    // The envelope is not for this identity, or was sealed under another context, or was changed,
    // or cut short.
    ENDSEAL_STATUS_AUTHENTICATION = 5,
    // Refused by the options: the suite.
    ENDSEAL_STATUS_SUITE = 6,
    // Refused by the options: the sender.
    ENDSEAL_STATUS_SENDER = 7,
    // Refused by the options: the time is too long ago, or not stated.
    ENDSEAL_STATUS_TOO_OLD = 8,
    // Refused by the options: the time is too far ahead.
    ENDSEAL_STATUS_TOO_NEW = 9,
    // It was opened before. This library does not say so: a program that keeps sender and message
    // id of what it opened can.
    ENDSEAL_STATUS_REPLAYED = 10,
    // The source of randomness failed.
    ENDSEAL_STATUS_RANDOM = 11,
    // The identity file does not open with this passphrase.
    ENDSEAL_STATUS_PASSPHRASE = 12,
    // The buffer is too small. The length that is needed was stored.
    ENDSEAL_STATUS_BUFFER = 13,
    // The function that takes output returned another number than 0. Free the stream: what it gave
    // is of no use.
    ENDSEAL_STATUS_WRITE = 14,
} endseal_status;

// An envelope that is being opened.
typedef struct endseal_open_stream endseal_open_stream;

// An envelope that is being sealed.
typedef struct endseal_seal_stream endseal_seal_stream;

// Which envelopes are opened, and by whom. Set all to zero first, then what you need.
typedef struct endseal_open_options {
    // The reader.
    const endseal_identity *identity;
    // The context under which it was sealed.
    const uint8_t *context;
    // Length of the context.
    size_t context_len;
    // Senders from whom envelopes are opened. A null pointer stands for all, an array of length 0
    // for none.
    const endseal_public_identity *const *senders;
    // Number of the senders.
    size_t sender_count;
    // Greatest age in milliseconds, 0 for no limit. With it, envelopes without a time and those
    // that are dated more than five minutes ahead are refused, too.
    uint64_t max_age;
    // ENDSEAL_OPEN_REQUIRE_POST_QUANTUM or 0.
    uint32_t flags;
} endseal_open_options;

// Authentic facts about an envelope that was opened.
typedef struct endseal_info {
    // Ed25519 key of the identity that sealed and signed it.
    uint8_t sender[32];
    // Random name of the message, which the sender chose.
    uint8_t message_id[16];
    // The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z; 0 for none.
    uint64_t time;
    // Suite of the envelope.
    uint32_t suite;
} endseal_info;

// The public part of an envelope. Nothing of it is authentic.
typedef struct endseal_inspected {
    // Number of slots: of recipients, or more if their number is hidden.
    uint64_t slots;
    // Length of the content in bytes; UINT64_MAX if the envelope was cut short.
    uint64_t content_len;
    // Suite of the envelope.
    uint32_t suite;
} endseal_inspected;

// Function that takes the next bytes of output. It returns 0, or another number to give up. It is
// not called for no bytes. It does not throw, and calls no function of this library.
typedef int (*endseal_write)(void *user, const uint8_t *data, size_t len);

// Parts of an envelope beside its content. Set all to zero first, then what you need.
typedef struct endseal_seal_options {
    // The identity that seals and signs.
    const endseal_identity *sender;
    // The readers.
    const endseal_recipients *recipients;
    // Name of the application and its protocol, at most 1,024 bytes. Both sides give the same.
    const uint8_t *context;
    // Length of the context.
    size_t context_len;
    // Time to state, in milliseconds since 1970-01-01T00:00:00Z; 0 for none.
    uint64_t time;
    // ENDSEAL_SUITE_HYBRID, or ENDSEAL_SUITE_X25519 if a recipient has no post-quantum key.
    uint32_t suite;
    // ENDSEAL_SEAL_HIDE_COUNT or 0.
    uint32_t flags;
} endseal_seal_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the interface of the library. A program that was compiled with another
// ENDSEAL_ABI_VERSION does not work with it.
uint32_t endseal_abi_version(void);

// Returns the name of a status, such as "too-old". It stays for ever.
const char *endseal_status_name(int32_t status);

// Returns what was wrong with the last call on this thread, for people; "" if nothing was. The
// text stays until the next call on this thread that returns a status.
const char *endseal_last_error(void);

// Makes a new identity, which endseal_identity_free wipes. It has no 24 words for paper: those are
// of identities that the program endseal makes.
enum endseal_status endseal_identity_generate(endseal_identity **made);

// Opens an identity file with its passphrase in UTF-8, or with a null pointer if it was made
// without one. That takes about 0.2 s and 64 MiB of memory.
enum endseal_status endseal_identity_unlock(const uint8_t *file,
                                            size_t file_len,
                                            const uint8_t *passphrase,
                                            size_t passphrase_len,
                                            endseal_identity **made);

// Writes the identity file of an identity, sealed under a passphrase in UTF-8: text of at most
// ENDSEAL_IDENTITY_FILE_MAX bytes. The caller writes it to a place that only the owner reads, over
// no other identity.
enum endseal_status endseal_identity_lock(const endseal_identity *identity,
                                          const uint8_t *passphrase,
                                          size_t passphrase_len,
                                          uint8_t *file,
                                          size_t capacity,
                                          size_t *file_len);

// Makes the public identity of an identity.
enum endseal_status endseal_identity_public(const endseal_identity *identity,
                                            endseal_public_identity **made);

// Wipes an identity. A null pointer is allowed, here and in all functions that free.
void endseal_identity_free(endseal_identity *identity);

// Reads a public identity from its text, endseal1... or endsealpq1...
enum endseal_status endseal_public_identity_parse(const uint8_t *text,
                                                  size_t text_len,
                                                  endseal_public_identity **made);

// Writes the text of a public identity, without a NUL at its end: at most
// ENDSEAL_IDENTITY_TEXT_MAX bytes.
enum endseal_status endseal_public_identity_text(const endseal_public_identity *of,
                                                 uint8_t *text,
                                                 size_t capacity,
                                                 size_t *text_len);

// Writes the Ed25519 key of a public identity, which names the person: 32 bytes.
enum endseal_status endseal_public_identity_key(const endseal_public_identity *of,
                                                uint8_t (*key)[32]);

// Returns 1 if content can be sealed for this identity that stays secret when quantum computers
// exist, otherwise 0.
int32_t endseal_public_identity_is_post_quantum(const endseal_public_identity *of);

// Frees a public identity.
void endseal_public_identity_free(endseal_public_identity *of);

// Prepares recipients for any number of envelopes. One who is named twice counts once.
enum endseal_status endseal_recipients_new(const endseal_public_identity *const *of,
                                           size_t count,
                                           endseal_recipients **made);

// Returns the number of recipients, 0 for a null pointer.
size_t endseal_recipients_count(const endseal_recipients *of);

// Frees recipients. Envelopes that are being sealed for them keep them.
void endseal_recipients_free(endseal_recipients *of);

// Opens an envelope. The content is at most as long as the envelope, and nothing is in the buffer
// unless the call succeeds. `info` may be a null pointer.
enum endseal_status endseal_open(const struct endseal_open_options *options,
                                 const uint8_t *envelope,
                                 size_t envelope_len,
                                 uint8_t *content,
                                 size_t capacity,
                                 size_t *content_len,
                                 struct endseal_info *info);

// Reads the public part of an envelope.
enum endseal_status endseal_inspect(const uint8_t *envelope,
                                    size_t envelope_len,
                                    struct endseal_inspected *inspected);

// Begins to open an envelope. It is used by one thread at a time.
enum endseal_status endseal_open_stream_new(const struct endseal_open_options *options,
                                            struct endseal_open_stream **made);

// Takes the next bytes of the envelope, and gives the content of the blocks (4 MiB) that they
// complete to `to`. What was given is authentic, but it is not all before
// endseal_open_stream_finish returns ENDSEAL_STATUS_OK: an envelope may have been cut short. If
// `to` gives up, every later call fails. Pieces of 64 KiB to 4 MiB keep memory low.
enum endseal_status endseal_open_stream_feed(struct endseal_open_stream *stream,
                                             const uint8_t *envelope,
                                             size_t envelope_len,
                                             endseal_write to,
                                             void *user);

// Ends the envelope, and gives the rest of its content to `to`.
enum endseal_status endseal_open_stream_finish(struct endseal_open_stream *stream,
                                               endseal_write to,
                                               void *user);

// Stores what is known of the message: after the first content, or the end.
enum endseal_status endseal_open_stream_info(const struct endseal_open_stream *stream,
                                             struct endseal_info *info);

// Frees an envelope that was being opened.
void endseal_open_stream_free(struct endseal_open_stream *stream);

// Stores the length of an envelope for so many bytes of content. Only sealing finds all mistakes
// in the options.
enum endseal_status endseal_sealed_len(const struct endseal_seal_options *options,
                                       size_t content_len,
                                       size_t *envelope_len);

// Seals content. The content and the buffer do not overlap.
enum endseal_status endseal_seal(const struct endseal_seal_options *options,
                                 const uint8_t *content,
                                 size_t content_len,
                                 uint8_t *envelope,
                                 size_t capacity,
                                 size_t *envelope_len);

// Begins an envelope. It is used by one thread at a time.
enum endseal_status endseal_seal_stream_new(const struct endseal_seal_options *options,
                                            struct endseal_seal_stream **made);

// Seals the next bytes of the content, and gives the next bytes of the envelope to `to`. If that
// gives up, the envelope is lost: every later call fails.
enum endseal_status endseal_seal_stream_push(struct endseal_seal_stream *stream,
                                             const uint8_t *content,
                                             size_t content_len,
                                             endseal_write to,
                                             void *user);

// Gives the last bytes of the envelope to `to`. Without them no one opens it.
enum endseal_status endseal_seal_stream_finish(struct endseal_seal_stream *stream,
                                               endseal_write to,
                                               void *user);

// Frees an envelope that was being sealed.
void endseal_seal_stream_free(struct endseal_seal_stream *stream);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ENDSEAL_H */
