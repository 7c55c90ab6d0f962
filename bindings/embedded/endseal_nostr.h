/* Nostr on microcontrollers: events, encryption, remote signing. No heap, no globals.
 *
 * Written by cbindgen from the Rust source; do not edit.
 *
 * Functions return a status, ENDSEAL_NOSTR_OK or the cause of a failure. A pointer is valid for as
 * many bytes as its length says, for the whole call. Texts are UTF-8. An output must not overlap
 * an input or another output. Texts are written with a zero byte behind them, which `out_cap`
 * includes and `*out_len` does not. After a failure the text is empty, and `*out_len` is 0 or, for
 * ENDSEAL_NOSTR_TOO_SMALL, the length that is needed.
 *
 * The scratch memory of a context is wiped before a call returns. What the compiler left on the
 * stack and in registers is not. Outputs that are secret are the caller's to wipe.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */

#ifndef ENDSEAL_NOSTR_H
#define ENDSEAL_NOSTR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The application may define this function, which the library calls if it finds a defect of its
/// own; no input may cause that. It must not return: reset the chip, as secrets of the call are
/// still in memory. If it returns, the library waits for the watchdog in an endless loop.
/// endseal_nostr_panic.c has a weak definition, which calls abort().
void endseal_nostr_panic(void);

#ifdef __cplusplus
}
#endif

// Version of this interface. A library of another version must not be used with this header.
#define ENDSEAL_NOSTR_ABI_VERSION 1

// Longest plaintext, content of a new event, and list of tags in bytes.
#define ENDSEAL_NOSTR_MAX_PLAINTEXT 8192

// Longest payload and longest JSON of an event in bytes.
#define ENDSEAL_NOSTR_MAX_TEXT 16384

// `sizeof(endseal_nostr)` in bytes: 24 KiB of scratch memory, and 64 bytes.
#define ENDSEAL_NOSTR_CONTEXT_LEN 24640

// Method `connect`: a client asks to be paired. If it is allowed, add its key to `clients`
// after the call.
#define ENDSEAL_NOSTR_CONNECT 1

// Method `sign_event`: the user's key signs the event in `text`.
#define ENDSEAL_NOSTR_SIGN_EVENT 2

// Method `get_public_key`: the client learns the user's public key.
#define ENDSEAL_NOSTR_GET_PUBLIC_KEY 3

// Method `nip04_encrypt`: `text` is the plaintext.
#define ENDSEAL_NOSTR_NIP04_ENCRYPT 4

// Method `nip04_decrypt`: `text` is the content. The client learns the plaintext.
#define ENDSEAL_NOSTR_NIP04_DECRYPT 5

// Method `nip44_encrypt`: `text` is the plaintext.
#define ENDSEAL_NOSTR_NIP44_ENCRYPT 6

// Method `nip44_decrypt`: `text` is the payload. The client learns the plaintext.
#define ENDSEAL_NOSTR_NIP44_DECRYPT 7

// Method `logout`: the client ends its session. Remove its key from `clients` after the call.
#define ENDSEAL_NOSTR_LOGOUT 8

// Decision: answer with an error, `not allowed`.
#define ENDSEAL_NOSTR_REFUSE 0

// Decision: execute the request and answer with its result.
#define ENDSEAL_NOSTR_ALLOW 1

// Decision: do not answer, because the event or the request was answered before.
#define ENDSEAL_NOSTR_IGNORE 2

// The call succeeded.
#define ENDSEAL_NOSTR_OK 0

// A pointer is null or not aligned, an output overlaps an input, or the context was not set up.
#define ENDSEAL_NOSTR_ARGUMENT 1

// An input is empty where it must not be, or longer than its limit.
#define ENDSEAL_NOSTR_LENGTH 2

// The output buffer is too small; `*out_len` is the length that is needed, without the zero byte.
#define ENDSEAL_NOSTR_TOO_SMALL 3

// The function `random` of the caller failed. Nothing was encrypted or signed.
#define ENDSEAL_NOSTR_RANDOM 4

// The function `aes256` of the caller failed. The output was wiped.
#define ENDSEAL_NOSTR_AES 5

// The secret key is zero or not below the order of the curve.
#define ENDSEAL_NOSTR_SECRET_KEY 6

// The public key is not the x-coordinate of a point on the curve.
#define ENDSEAL_NOSTR_PUBLIC_KEY 7

// A text is not UTF-8.
#define ENDSEAL_NOSTR_TEXT 8

// The JSON of an event or of tags is malformed.
#define ENDSEAL_NOSTR_JSON 9

// The id or the signature of an event is wrong.
#define ENDSEAL_NOSTR_SIGNATURE 10

// The payload was not decrypted. All causes have this one number, so that an answer to the sender
// cannot reveal which it was.
#define ENDSEAL_NOSTR_DECRYPTION 11

// The event is no request for this signer, or the caller ignored it. It must not be answered.
#define ENDSEAL_NOSTR_IGNORED 12

// The context is in use: a function of the caller called back into the library.
#define ENDSEAL_NOSTR_BUSY 13

// Context of the calls. Its content is private. It may be static, on the heap or on a large stack,
// and must not be moved after `endseal_nostr_init`.
typedef struct endseal_nostr {
    // Private.
    uint64_t opaque[3080];
} endseal_nostr;

// Fills `out` with `len` bytes of a cryptographically secure source. Returns 0 if it did.
typedef int32_t (*endseal_nostr_random_fn)(void *user,
                                           uint8_t *out,
                                           size_t len);

// Feeds a watchdog or lets other tasks run.
typedef void (*endseal_nostr_step_fn)(void *user);

// Encrypts (`decrypt` is 0) or decrypts (1) `count` blocks of 16 bytes where they lie, by
// AES-256-ECB with a key of 32 bytes. Returns 0 if it did. `count` can be 0.
typedef int32_t (*endseal_nostr_aes_fn)(void *user,
                                        const uint8_t *key,
                                        int32_t decrypt,
                                        uint8_t *blocks,
                                        size_t count);

// Functions of the caller. They must not call the library with the context that they serve.
typedef struct endseal_nostr_callbacks {
    // First argument of each function.
    void *user;
    // Random source. Without it nothing is encrypted or signed.
    endseal_nostr_random_fn random;
    // Called before each step of a call. NULL if nothing is to be done. A step takes at most
    // 8,000,000 instructions on RV32IMC (50 ms at 160 MHz), 6,000,000 on Cortex-M4F.
    endseal_nostr_step_fn between_steps;
    // AES peripheral for NIP-04; `endseal_nostr_answer` does not use it. NULL computes AES in
    // software, in constant time.
    endseal_nostr_aes_fn aes256;
} endseal_nostr_callbacks;

// Members of an event that its author chooses.
typedef struct endseal_nostr_draft {
    // Time of creation, in seconds since 1970.
    uint64_t created_at;
    // Kind (NIP-01).
    uint16_t kind;
    // JSON array of arrays of strings, as `[["p","79be…"]]`. NULL for no tags.
    const char *tags;
    // Length of `tags` in bytes.
    size_t tags_len;
    // Content as plain UTF-8, without the escapes of JSON.
    const char *content;
    // Length of `content` in bytes.
    size_t content_len;
} endseal_nostr_draft;

// A request that is to be allowed or refused. Its memory is valid during the decision only. The
// client is authentic, all else is its claim.
typedef struct endseal_nostr_request {
    // One of the methods above.
    int32_t method;
    // Name of the method in NIP-46.
    const char *method_name;
    // Kind of the event to be signed; -1 for other methods.
    int32_t kind;
    // Public key of the client (32 bytes).
    const uint8_t *client;
    // Public key of the other side of an encryption (32 bytes); NULL for other methods.
    const uint8_t *peer;
    // Id of the event with the request (32 bytes). A signer ignores ids that it has seen in the
    // last 600 seconds.
    const uint8_t *event_id;
    // Digest of the request (32 bytes): its repetition in another event has the same.
    const uint8_t *digest;
    // Time of the event in seconds since 1970.
    uint64_t created_at;
    // Parameter of the request, UTF-8 without a zero byte behind it.
    const char *text;
    // Length of `text` in bytes.
    size_t text_len;
    // Text for a display, UTF-8 without a zero byte behind it: the content of the event, the
    // relay or URL that a log-in is for, the plaintext, or the name of a new client. At most 500
    // characters, except for a URL; control characters but line feeds and tabs are replaced.
    const char *shown;
    // Length of `shown` in bytes.
    size_t shown_len;
} endseal_nostr_request;

// Decides about a request: ENDSEAL_NOSTR_ALLOW, ENDSEAL_NOSTR_REFUSE or ENDSEAL_NOSTR_IGNORE. Any
// other number refuses. It may wait for a button; the time limit of clients is often 30 seconds.
typedef int32_t (*endseal_nostr_decide_fn)(void *user,
                                           const struct endseal_nostr_request *request);

// Keys and state of a remote signer, which the caller keeps.
typedef struct endseal_nostr_signer {
    // Secret key of the user (32 bytes), which signs events and encrypts messages.
    const uint8_t *user_key;
    // Secret key of the signer (32 bytes), which clients encrypt to. It can be the same pointer.
    const uint8_t *transport_key;
    // Public keys of the paired clients, 32 bytes each. Requests of others are ignored, except
    // `connect` with the right secret. They must not be changed before the call has returned.
    const uint8_t *clients;
    // Number of paired clients.
    size_t client_count;
    // Secret in the `bunker://` URI, by which one new client connects; at most 256 bytes. NULL if
    // none can. Replace it once it was used.
    const char *secret;
    // Length of `secret` in bytes.
    size_t secret_len;
    // The time now, in seconds since 1970. Requests that are more than 300 seconds older or newer
    // are refused, so a wrong clock refuses all.
    uint64_t now;
    // Greatest `created_at` of the events whose ids were forgotten, which are those of more than
    // 600 seconds ago; 0 at first. Requests up to this time are refused, so that a clock that was
    // put back executes none twice. Keep it over restarts, like the ids.
    uint64_t floor;
    // Decides about requests. `ping` and `switch_relays` are answered without it.
    endseal_nostr_decide_fn decide;
} endseal_nostr_signer;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns ENDSEAL_NOSTR_ABI_VERSION of the library that is linked.
uint32_t endseal_nostr_abi_version(void);

// Returns a text for a status, in English, for a log.
const char *endseal_nostr_status_text(int32_t status);

// Returns the length of the NIP-44 payload of `plaintext_len` bytes, without the zero byte behind
// it; 0 if the plaintext is empty or longer than ENDSEAL_NOSTR_MAX_PLAINTEXT.
size_t endseal_nostr_nip44_len(size_t plaintext_len);

// Returns the length of the NIP-04 content of `plaintext_len` bytes, without the zero byte behind
// it; 0 if the plaintext is longer than ENDSEAL_NOSTR_MAX_PLAINTEXT.
size_t endseal_nostr_nip04_len(size_t plaintext_len);

// Sets up a context in memory of the caller. `context_len` is `sizeof(endseal_nostr)`; another
// length is refused, so that a header and a library of different versions are noticed. `callbacks`
// is copied.
//
// A context serves one call at a time. It holds no secret between calls.
int32_t endseal_nostr_init(struct endseal_nostr *context,
                           size_t context_len,
                           const struct endseal_nostr_callbacks *callbacks);

// Wipes a context. It has to be set up again before its next use.
void endseal_nostr_wipe(struct endseal_nostr *context);

// Writes the public key (32 bytes, x-only) of a secret key (32 bytes).
int32_t endseal_nostr_public_key(struct endseal_nostr *context,
                                 const uint8_t *secret_key,
                                 uint8_t *public_key);

// Writes the NIP-44 conversation key (32 bytes, secret) between a secret key and a public key (32
// bytes each). The same key serves both directions. The agreement is nearly all the work of a
// short message, so keep the key if many messages follow.
int32_t endseal_nostr_conversation_key(struct endseal_nostr *context,
                                       const uint8_t *secret_key,
                                       const uint8_t *public_key,
                                       uint8_t *conversation_key);

// Encrypts a text by NIP-44 to the owner of a public key, and writes the payload with a zero byte
// behind it. `out` needs endseal_nostr_nip44_len(plaintext_len) + 1 bytes.
int32_t endseal_nostr_nip44_encrypt(struct endseal_nostr *context,
                                    const uint8_t *secret_key,
                                    const uint8_t *public_key,
                                    const char *plaintext,
                                    size_t plaintext_len,
                                    char *out,
                                    size_t out_cap,
                                    size_t *out_len);

// Decrypts a NIP-44 payload, and writes the plaintext with a zero byte behind it. The plaintext
// can contain zero bytes itself. Verify the event around the payload first: a payload alone proves
// that one of the two keys made it, not when and for what.
int32_t endseal_nostr_nip44_decrypt(struct endseal_nostr *context,
                                    const uint8_t *secret_key,
                                    const uint8_t *public_key,
                                    const char *payload,
                                    size_t payload_len,
                                    char *out,
                                    size_t out_cap,
                                    size_t *out_len);

// Does the same as endseal_nostr_nip44_encrypt with a key of endseal_nostr_conversation_key.
int32_t endseal_nostr_nip44_encrypt_with(struct endseal_nostr *context,
                                         const uint8_t *conversation_key,
                                         const char *plaintext,
                                         size_t plaintext_len,
                                         char *out,
                                         size_t out_cap,
                                         size_t *out_len);

// Does the same as endseal_nostr_nip44_decrypt with a key of endseal_nostr_conversation_key.
int32_t endseal_nostr_nip44_decrypt_with(struct endseal_nostr *context,
                                         const uint8_t *conversation_key,
                                         const char *payload,
                                         size_t payload_len,
                                         char *out,
                                         size_t out_cap,
                                         size_t *out_len);

// Encrypts a text by NIP-04, for clients that know nothing newer, and writes the content with a
// zero byte behind it. `out` needs endseal_nostr_nip04_len(plaintext_len) + 1 bytes. Nothing is
// authenticated by NIP-04.
int32_t endseal_nostr_nip04_encrypt(struct endseal_nostr *context,
                                    const uint8_t *secret_key,
                                    const uint8_t *public_key,
                                    const char *plaintext,
                                    size_t plaintext_len,
                                    char *out,
                                    size_t out_cap,
                                    size_t *out_len);

// Decrypts a content of NIP-04, and writes the plaintext with a zero byte behind it. Neither its
// author nor its integrity is known. Verify the event first, and answer all failures alike: a
// sender who sees which contents fail can read the messages of others.
int32_t endseal_nostr_nip04_decrypt(struct endseal_nostr *context,
                                    const uint8_t *secret_key,
                                    const uint8_t *public_key,
                                    const char *content,
                                    size_t content_len,
                                    char *out,
                                    size_t out_cap,
                                    size_t *out_len);

// Writes the id (32 bytes) that an event has if the owner of a public key (32 bytes) signs it.
int32_t endseal_nostr_event_id(struct endseal_nostr *context,
                               const uint8_t *public_key,
                               const struct endseal_nostr_draft *draft,
                               uint8_t *id);

// Signs an event, and writes its JSON with a zero byte behind it, as relays take it. It is at most
// 400 bytes longer than tags and content, whose characters may be written as escapes.
int32_t endseal_nostr_sign(struct endseal_nostr *context,
                           const uint8_t *secret_key,
                           const struct endseal_nostr_draft *draft,
                           char *out,
                           size_t out_cap,
                           size_t *out_len);

// Verifies the id and the signature of the JSON of an event. Writes the public key (32 bytes) of
// its author if `author` is not NULL. `author` is left as it is after a failure.
int32_t endseal_nostr_verify(struct endseal_nostr *context,
                             const char *event,
                             size_t event_len,
                             uint8_t *author);

// Pads and encrypts the first `len` of `capacity` bytes by AES-256-CBC where they lie, with the
// caller's peripheral if there is one, and stores the length of the ciphertext. `capacity` is at
// least `len` + 16, rounded down to blocks of 16. `key` has 32 bytes, `iv` 16. It serves to
// compare a peripheral with the software and to measure both: CBC authenticates nothing.
int32_t endseal_nostr_aes256_cbc_encrypt(struct endseal_nostr *context,
                                         const uint8_t *key,
                                         const uint8_t *iv,
                                         uint8_t *buffer,
                                         size_t len,
                                         size_t capacity,
                                         size_t *out_len);

// Decrypts `len` bytes of AES-256-CBC where they lie, and stores the length of the plaintext
// without its padding. After a failure the buffer is zero.
int32_t endseal_nostr_aes256_cbc_decrypt(struct endseal_nostr *context,
                                         const uint8_t *key,
                                         const uint8_t *iv,
                                         uint8_t *buffer,
                                         size_t len,
                                         size_t *out_len);

// Answers a request of NIP-46: takes the JSON of an event of kind 24133, verifies and decrypts it,
// asks `signer->decide`, and writes the JSON of the event with the answer, which is to be sent to
// the same relay. `out` should have ENDSEAL_NOSTR_MAX_TEXT + 1 bytes: an answer that does not fit
// becomes an error to the client.
//
// Returns ENDSEAL_NOSTR_IGNORED for every event that must not be answered: malformed, forged, of
// another signer or of a client that is not paired.
int32_t endseal_nostr_answer(struct endseal_nostr *context,
                             const struct endseal_nostr_signer *signer,
                             const char *event,
                             size_t event_len,
                             char *out,
                             size_t out_cap,
                             size_t *out_len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ENDSEAL_NOSTR_H */
