# Vectors of the core dc233c, 64 bytes each, relative to VECBASE.
#
# Registers are windows on a ring of 64. A window that is used again is stored in the stack frame
# that it belongs to (overflow) and loaded when its function continues (underflow): four registers
# below the next frame's stack pointer, the others at the top of the frame itself.
    .section .vectors, "ax"
    .balign 1024
vectors:
    # 0x000: overflow of 4 registers
    s32e a0, a5, -16
    s32e a1, a5, -12
    s32e a2, a5, -8
    s32e a3, a5, -4
    rfwo
    .balign 64
    # 0x040: underflow of 4 registers
    l32e a0, a5, -16
    l32e a1, a5, -12
    l32e a2, a5, -8
    l32e a3, a5, -4
    rfwu
    .balign 64
    # 0x080: overflow of 8 registers
    s32e a0, a9, -16
    l32e a0, a1, -12
    s32e a1, a9, -12
    s32e a2, a9, -8
    s32e a3, a9, -4
    s32e a4, a0, -32
    s32e a5, a0, -28
    s32e a6, a0, -24
    s32e a7, a0, -20
    rfwo
    .balign 64
    # 0x0c0: underflow of 8 registers
    l32e a0, a9, -16
    l32e a1, a9, -12
    l32e a2, a9, -8
    l32e a7, a1, -12
    l32e a3, a9, -4
    l32e a4, a7, -32
    l32e a5, a7, -28
    l32e a6, a7, -24
    l32e a7, a7, -20
    rfwu
    .balign 64
    # 0x100: overflow of 12 registers
    s32e a0, a13, -16
    l32e a0, a1, -12
    s32e a1, a13, -12
    s32e a2, a13, -8
    s32e a3, a13, -4
    s32e a4, a0, -48
    s32e a5, a0, -44
    s32e a6, a0, -40
    s32e a7, a0, -36
    s32e a8, a0, -32
    s32e a9, a0, -28
    s32e a10, a0, -24
    s32e a11, a0, -20
    rfwo
    .balign 64
    # 0x140: underflow of 12 registers
    l32e a0, a13, -16
    l32e a1, a13, -12
    l32e a2, a13, -8
    l32e a11, a1, -12
    l32e a3, a13, -4
    l32e a4, a11, -48
    l32e a5, a11, -44
    l32e a6, a11, -40
    l32e a7, a11, -36
    l32e a8, a11, -32
    l32e a9, a11, -28
    l32e a10, a11, -24
    l32e a11, a11, -20
    rfwu
    # 0x180: interrupts, all masked
    .org vectors + 0x300
    # 0x300: exceptions of a program that runs in kernel mode, as this one does
    j muluh

# `muluh ar, as, at` = bits 63..32 of as * at, which the LX7 has and this core does not. All
# registers go to memory, where the instruction's fields select operands and result. There is no
# branch but the one for other instructions: each product takes the same number of instructions.
#
# Instruction bytes: t * 16, r * 16 + s, 0xa2.
    .balign 4
saved_at: .long MULUH_STATE
muluh:
    wsr a0, excsave1
    l32r a0, saved_at
    .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    s32i a\n, a0, 4 * \n
    .endr
    rsr a1, excsave1
    s32i a1, a0, 0
    rsr a2, epc1
    l8ui a3, a2, 0
    l8ui a4, a2, 1
    l8ui a5, a2, 2
    movi a6, 0xa2
    beq a5, a6, 1f
    # simcall exit(71). LLVM's assembler does not know the instruction.
    movi a2, 1
    movi a3, 71
    .byte 0x00, 0x51, 0x00
1:  addi a2, a2, 3
    wsr a2, epc1
    # a5, a6 = halves of at; a7, a8 = halves of as
    extui a3, a3, 4, 4
    addx4 a3, a3, a0
    l16ui a5, a3, 0
    l16ui a6, a3, 2
    extui a3, a4, 0, 4
    addx4 a3, a3, a0
    l16ui a7, a3, 0
    l16ui a8, a3, 2
    # a9 = low; a10, a11 = middle; a12 = high
    mull a9, a5, a7
    mull a10, a6, a7
    mull a11, a5, a8
    mull a12, a6, a8
    # No sum overflows: (2^16 - 1)^2 + 2^16 - 1 < 2^32.
    extui a9, a9, 16, 16
    add a10, a10, a9
    extui a9, a10, 0, 16
    add a11, a11, a9
    extui a10, a10, 16, 16
    extui a11, a11, 16, 16
    add a12, a12, a10
    add a12, a12, a11
    extui a3, a4, 4, 4
    addx4 a3, a3, a0
    s32i a12, a3, 0
    # One more in the counter behind the registers.
    l32i a3, a0, 64
    addi a3, a3, 1
    s32i a3, a0, 64
    .irp n, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    l32i a\n, a0, 4 * \n
    .endr
    rfe

    .section .text.start, "ax"
    .balign 4
stack_at: .long __stack
vectors_at: .long vectors
enter_at: .long enter
# Windows on, interrupts masked, kernel mode.
status: .long 0x0004000f
    .global _start
    .balign 4
_start:
    # One window in use: without it, a function with a large frame would find its caller's missing.
    movi a2, 0
    wsr a2, windowbase
    movi a2, 1
    wsr a2, windowstart
    rsync
    l32r a1, stack_at
    l32r a2, vectors_at
    wsr a2, vecbase
    l32r a2, status
    wsr a2, ps
    rsync
    movi a0, 0
    l32r a8, enter_at
    callx8 a8
