/* Cortex-M4F on QEMU's mps2-an386, and RV32IMC on QEMU's virt. */
#include "machine.h"

#include <errno.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

#ifdef __arm__

const char machine_name[] = "Cortex-M4F, QEMU mps2-an386";
const char machine_isa[] = "cortex-m4f";
const char machine_chip[] = "nRF52840";
const uint32_t machine_mhz = 64;
/* SysTick runs at 25 MHz, and under -icount shift=0 an instruction takes a nanosecond. */
const uint32_t machine_tick = 40;

#define UART_DATA REGISTER(0x40004000)
#define UART_STATE REGISTER(0x40004004)
#define UART_CONTROL REGISTER(0x40004008)
#define UART_DIVIDER REGISTER(0x40004010)
#define SYSTICK_CONTROL REGISTER(0xE000E010)
#define SYSTICK_RELOAD REGISTER(0xE000E014)
#define SYSTICK_VALUE REGISTER(0xE000E018)
#define SYSTICK_MASK 0xFFFFFFu

void machine_start(void) {
    UART_DIVIDER = 16;
    UART_CONTROL = 1;
    SYSTICK_RELOAD = SYSTICK_MASK;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 5;
}

static void put(char byte) {
    while (UART_STATE & 1) {
    }
    UART_DATA = (uint8_t)byte;
}

/* SysTick counts down. */
uint32_t machine_mark(void) {
    return SYSTICK_VALUE;
}

uint64_t machine_since(uint32_t mark) {
    return (uint64_t)((mark - SYSTICK_VALUE) & SYSTICK_MASK) * machine_tick;
}

void machine_exit(int status) {
    /* Semihosting: SYS_EXIT_EXTENDED with ADP_Stopped_ApplicationExit. */
    volatile uint32_t block[2] = {0x20026, (uint32_t)status};
    for (;;) {
        register uint32_t operation __asm__("r0") = 0x20;
        register volatile uint32_t *argument __asm__("r1") = block;
        __asm__ volatile("bkpt 0xAB" : "+r"(operation) : "r"(argument) : "memory");
    }
}

#else

const char machine_name[] = "RV32IMC, QEMU virt";
const char machine_isa[] = "rv32imc";
const char machine_chip[] = "ESP32-C3";
const uint32_t machine_mhz = 160;
const uint32_t machine_tick = 1;

void machine_start(void) {
}

static void put(char byte) {
    *(volatile uint8_t *)0x10000000 = (uint8_t)byte;
}

/* The lower half of minstret, by its number: RV32IMC has no name for it. */
uint32_t machine_mark(void) {
    uint32_t count;
    __asm__ volatile(".option push\n.option arch, +zicsr\ncsrr %0, 0xB02\n.option pop"
                     : "=r"(count));
    return count;
}

uint64_t machine_since(uint32_t mark) {
    return machine_mark() - mark;
}

void machine_exit(int status) {
    for (;;) {
        REGISTER(0x100000) = status == 0 ? 0x5555u : 0x3333u | (uint32_t)status << 16;
    }
}

#endif

void machine_write(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        put(text[i]);
    }
}

/* The first function in C. */
int main(void);
void machine_enter(void) {
    machine_start();
    machine_exit(main());
}

/* An exception, of which none is expected. */
void machine_fault(void) {
    machine_write("fault\n", 6);
    machine_exit(70);
}

void abort(void) {
    machine_write("abort\n", 6);
    machine_exit(71);
}

#define PAINT 0xA5C35A3Cu
#define PAINTED (64u << 10)

static uint32_t *paint_top;

__attribute__((noinline)) void machine_paint_stack(void) {
    paint_top = (uint32_t *)__builtin_frame_address(0) - 16;
    for (uint32_t *word = paint_top - PAINTED / 4; word < paint_top; word++) {
        *(volatile uint32_t *)word = PAINT;
    }
}

size_t machine_used_stack(void) {
    uint32_t *word = paint_top - PAINTED / 4;
    while (word < paint_top && *(volatile uint32_t *)word == PAINT) {
        word++;
    }
    return (size_t)(paint_top - word) * 4;
}

/* Memory for malloc, between the program and the stack. */
extern char machine_heap_start[], machine_heap_end[];

void *sbrk(ptrdiff_t increment) {
    static char *end = machine_heap_start;
    if (increment > machine_heap_end - end) {
        errno = ENOMEM;
        return (void *)-1;
    }
    char *start = end;
    end += increment;
    return start;
}

void *_sbrk(ptrdiff_t increment) {
    return sbrk(increment);
}
