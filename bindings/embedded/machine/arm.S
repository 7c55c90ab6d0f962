@ The stack's top, the entry and the handlers of fourteen exceptions.
    .syntax unified
    .thumb
    .section .vectors, "a"
    .word machine_stack
    .word _start
    .rept 14
    .word machine_fault
    .endr

@ The ABI passes floats in the FPU's registers, which is off after a reset (CPACR, 0xE000ED88).
    .section .text.start, "ax"
    .global _start
    .type _start, %function
    .thumb_func
_start:
    ldr r0, =0xE000ED88
    ldr r1, [r0]
    orr r1, r1, #0xF00000
    str r1, [r0]
    dsb
    isb
    bl machine_enter
