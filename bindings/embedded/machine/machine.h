/* What the tests and the benchmark need of the machine that they run on: this computer, or one that
 * QEMU emulates. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name of the machine. */
extern const char machine_name[];
/* Name of its instruction set in tables. */
extern const char machine_isa[];
/* A chip of this instruction set, and its clock, for estimates of time. */
extern const char machine_chip[];
extern const uint32_t machine_mhz;
/* Instructions of one tick of the counter. */
extern const uint32_t machine_tick;

/* Writes to the standard output. */
void machine_write(const char *text, size_t len);
/* Instructions since an earlier result of machine_mark. The counter wraps: ask at least every 600
 * million instructions. 0 on this computer. */
uint64_t machine_since(uint32_t mark);
uint32_t machine_mark(void);
/* Ends the program. */
void machine_exit(int status) __attribute__((noreturn));
/* Paints free stack, and returns the bytes below this call's caller that were used since. 0 on
 * this computer. */
void machine_paint_stack(void);
size_t machine_used_stack(void);

#ifdef __cplusplus
}
#endif
#endif
