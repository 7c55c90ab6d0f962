# RV32IMC on QEMU's `virt`: the same machine and the same counter as the firmware's.
    .section .text.start, "ax"
    .global _start
_start:
    la sp, __stack
    la t0, 1f
    csrw mtvec, t0
    la t0, __bss_start
    la t1, __bss_end
2:  bgeu t0, t1, 3f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 2b
3:  call main
    .balign 4
1:  li a0, 70
    call finish
