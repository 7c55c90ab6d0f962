// Signs an event and prints its JSON, as a relay takes it.
#include <endseal_nostr.h>

SET_LOOP_TASK_STACK_SIZE(16 * 1024);

static endseal_nostr context;

static int32_t random_bytes(void *, uint8_t *out, size_t len) {
  esp_fill_random(out, len);
  return 0;
}

static void feed_watchdog(void *) {
  yield();
}

void setup() {
  Serial.begin(115200);
  endseal_nostr_callbacks callbacks = {NULL, random_bytes, feed_watchdog, NULL};
  endseal_nostr_init(&context, sizeof context, &callbacks);

  // A key of your own: 32 random bytes, kept in encrypted flash.
  const uint8_t secret_key[32] = {1, 2, 3};
  const char tags[] = "[[\"t\",\"esp32\"]]";
  const char content[] = "22.5 °C in the cellar";
  endseal_nostr_draft draft = {1700000000, 1, tags, sizeof tags - 1, content, sizeof content - 1};
  static char json[800];
  size_t len;
  int32_t status = endseal_nostr_sign(&context, secret_key, &draft, json, sizeof json, &len);
  Serial.println(status == ENDSEAL_NOSTR_OK ? json : endseal_nostr_status_text(status));
}

void loop() {
}
