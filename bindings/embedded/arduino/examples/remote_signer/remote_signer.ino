// A remote signer (NIP-46) on the serial port: a computer passes the events of a relay to it and its
// answers to the relay, one a line. It never sees a secret key. The line "T1700000000" sets the time.
// The button BOOT allows what is printed.
#include <endseal_nostr.h>

SET_LOOP_TASK_STACK_SIZE(16 * 1024);

static const int BUTTON = 9;
static const unsigned long WAIT_MS = 20000;

static endseal_nostr context;
static uint8_t user_key[32] = {1}, transport_key[32] = {2};
static uint8_t clients[4][32], new_client[32];
static size_t client_count;
static bool is_new;
// The last requests: a relay that repeats one does not ask again.
static uint8_t seen[16][32];
static size_t seen_count;
static uint64_t time_at_start;
static char line[ENDSEAL_NOSTR_MAX_TEXT + 1], answer[ENDSEAL_NOSTR_MAX_TEXT + 1];

static int32_t random_bytes(void *, uint8_t *out, size_t len) {
  esp_fill_random(out, len);
  return 0;
}

static void feed_watchdog(void *) {
  yield();
}

static int32_t decide(void *, const endseal_nostr_request *request) {
  for (const uint8_t *id : seen) {
    if (memcmp(id, request->event_id, 32) == 0) return ENDSEAL_NOSTR_IGNORE;
  }
  memcpy(seen[seen_count++ % 16], request->event_id, 32);
  Serial.printf("# %s, kind %d: %.*s\n", request->method_name, (int)request->kind,
                (int)request->shown_len, request->shown);
  for (unsigned long start = millis(); digitalRead(BUTTON) == HIGH; yield()) {
    if (millis() - start > WAIT_MS) return ENDSEAL_NOSTR_REFUSE;
  }
  if (request->method == ENDSEAL_NOSTR_CONNECT) {
    memcpy(new_client, request->client, 32);
    is_new = true;
  }
  return ENDSEAL_NOSTR_ALLOW;
}

void setup() {
  Serial.setRxBufferSize(sizeof line);
  Serial.begin(115200);
  pinMode(BUTTON, INPUT_PULLUP);
  endseal_nostr_callbacks callbacks = {NULL, random_bytes, feed_watchdog, NULL};
  endseal_nostr_init(&context, sizeof context, &callbacks);
}

void loop() {
  size_t len = Serial.readBytesUntil('\n', line, sizeof line - 1);
  line[len] = 0;
  if (line[0] == 'T') time_at_start = strtoull(line + 1, NULL, 10) - millis() / 1000;
  if (line[0] != '{') return;

  endseal_nostr_signer signer = {};
  signer.user_key = user_key;
  signer.transport_key = transport_key;
  signer.clients = clients[0];
  signer.client_count = client_count;
  // The secret in the bunker:// URI, for one client. Make a random one for each.
  signer.secret = client_count == 0 ? "s3cret" : NULL;
  signer.secret_len = client_count == 0 ? 6 : 0;
  signer.now = time_at_start + millis() / 1000;
  signer.decide = decide;
  is_new = false;
  int32_t status =
      endseal_nostr_answer(&context, &signer, line, len, answer, sizeof answer, &len);
  if (status == ENDSEAL_NOSTR_OK) Serial.println(answer);
  if (status == ENDSEAL_NOSTR_OK && is_new && client_count < 4) {
    memcpy(clients[client_count++], new_client, 32);
  }
}
