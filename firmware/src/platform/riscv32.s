# A trap ends the program: without a handler the core would run on from address zero.
    .section .text.start, "ax"
    .global _start
_start:
    la sp, __stack
    la t0, 1f
    csrw mtvec, t0
    call enter
    .balign 4
1:  call fault
