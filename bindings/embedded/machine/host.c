/* This computer. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

const char machine_name[] = "host";
const char machine_isa[] = "host";
const char machine_chip[] = "host";
const uint32_t machine_mhz = 1;
const uint32_t machine_tick = 1;

void machine_write(const char *text, size_t len) {
    fwrite(text, 1, len, stdout);
    fflush(stdout);
}

uint32_t machine_mark(void) {
    return 0;
}

uint64_t machine_since(uint32_t mark) {
    (void)mark;
    return 0;
}

void machine_exit(int status) {
    exit(status);
}

void machine_paint_stack(void) {
}

size_t machine_used_stack(void) {
    return 0;
}

/* Tables of Rust's core for unwinding name this function. Nothing unwinds. */
void rust_eh_personality(void);
void rust_eh_personality(void) {
    abort();
}
