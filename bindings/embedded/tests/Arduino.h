/* Names of Arduino's core for the ESP32 that the examples use, for a compiler alone: nothing here
 * runs. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SET_LOOP_TASK_STACK_SIZE(bytes) size_t getArduinoLoopTaskStackSize(void) { return bytes; }

enum { HIGH = 1, INPUT_PULLUP = 5 };

struct HardwareSerial {
    void begin(unsigned long baud);
    size_t setRxBufferSize(size_t len);
    size_t println(const char *text);
    size_t printf(const char *format, ...) __attribute__((format(printf, 2, 3)));
    size_t readBytesUntil(char end, char *buffer, size_t len);
};
extern HardwareSerial Serial;

void esp_fill_random(void *out, size_t len);
void yield(void);
unsigned long millis(void);
int digitalRead(uint8_t pin);
void pinMode(uint8_t pin, uint8_t mode);
void setup(void);
void loop(void);
