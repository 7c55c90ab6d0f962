# A trap ends the program: without a handler the core would run on from address zero.
    .option arch, +zicsr
    .section .text.start, "ax"
    .global _start
_start:
    la sp, machine_stack
    # Variables of a thread: the C library has errno there.
    la tp, machine_tls
    la t0, 1f
    csrw mtvec, t0
    call machine_enter
    .balign 4
1:  call machine_fault
