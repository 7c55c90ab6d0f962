# Products of numbers of ten limbs of 26 bits modulo 2^256 - 2^32 - 977, for the windowed ABI.
#
# It is the arithmetic of `mid/secp256k1/portable`: `Split` and `reduce` there. Three columns are
# summed at a time, so that one load of a limb serves three products. There is no branch, and no
# address depends on a limb.
#
# a2 scratch, a3 and a4 factors, a5 a7 a9 upper and a6 a8 a10 lower parts of the columns' sums,
# a11 to a13 limbs of the second factor (limb m is in a11 + m % 3), a14 limb of the first one,
# a15 the same times 2^5. Stack: 0 carry, 4 to 44 columns 9 to 19, 48 result.

# Adds a product to a column. The first one of a column sets it.
.macro TERM limb, high, low, is_first
    .if \is_first
    muluh \high, a15, \limb
    mull \low, a14, \limb
    .else
    muluh a2, a15, \limb
    add \high, \high, a2
    mull a2, a14, \limb
    add \low, \low, a2
    .endif
.endm

# Adds a[i] * b[k - i] to column k, if there is such a limb.
.macro MULTIPLY k, i, high, low
    .if ((\k) - (\i) >= 0) && ((\k) - (\i) <= 9)
    .if ((\k) - (\i)) % 3 == 0
    TERM a11, \high, \low, ((\i) == 0 || (\k) - (\i) == 9)
    .elseif ((\k) - (\i)) % 3 == 1
    TERM a12, \high, \low, ((\i) == 0 || (\k) - (\i) == 9)
    .else
    TERM a13, \high, \low, ((\i) == 0 || (\k) - (\i) == 9)
    .endif
    .endif
.endm

# Loads limb m of the second factor, if there is one.
.macro LOAD m
    .if ((\m) >= 0) && ((\m) <= 9)
    .if (\m) % 3 == 0
    l32i a11, a4, 4 * (\m)
    .elseif (\m) % 3 == 1
    l32i a12, a4, 4 * (\m)
    .else
    l32i a13, a4, 4 * (\m)
    .endif
    .endif
.endm

# Sums the products of the columns c to c + 2.
.macro PRODUCTS c
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    .if ((\i) >= (\c) - 9) && ((\i) <= (\c) + 2)
    l32i a14, a3, 4 * (\i)
    LOAD (\c) - (\i)
    .if ((\i) == 0) || ((\i) == (\c) - 9)
    LOAD (\c) + 1 - (\i)
    LOAD (\c) + 2 - (\i)
    .endif
    slli a15, a14, 5
    MULTIPLY (\c), \i, a5, a6
    MULTIPLY (\c) + 1, \i, a7, a8
    MULTIPLY (\c) + 2, \i, a9, a10
    .endif
    .endr
.endm

# Adds the product of two limbs of a square to column k: a[i] * 2 a[k - i], or a[i] * a[i].
.macro MULTIPLY_OWN k, i, high, low
    .if ((\k) - (\i) > (\i)) && ((\k) - (\i) <= 9)
    .if ((\k) - (\i)) % 3 == 0
    TERM a11, \high, \low, ((\i) == 0 || (\k) - (\i) == 9)
    .elseif ((\k) - (\i)) % 3 == 1
    TERM a12, \high, \low, ((\i) == 0 || (\k) - (\i) == 9)
    .else
    TERM a13, \high, \low, ((\i) == 0 || (\k) - (\i) == 9)
    .endif
    .elseif (\k) - (\i) == (\i)
    TERM a14, \high, \low, ((\i) == 0 || (\i) == 9)
    .endif
.endm

# Loads a limb and doubles it, if a product with limb i needs it.
.macro LOAD_DOUBLED m, i
    .if ((\m) > (\i)) && ((\m) <= 9)
    .if (\m) % 3 == 0
    l32i a11, a3, 4 * (\m)
    add a11, a11, a11
    .elseif (\m) % 3 == 1
    l32i a12, a3, 4 * (\m)
    add a12, a12, a12
    .else
    l32i a13, a3, 4 * (\m)
    add a13, a13, a13
    .endif
    .endif
.endm

# Sums the products of the columns c to c + 2 of a square.
.macro SQUARES c
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    .if ((\i) >= (\c) - 9) && (2 * (\i) <= (\c) + 2)
    l32i a14, a3, 4 * (\i)
    LOAD_DOUBLED (\c) - (\i), \i
    .if ((\i) == 0) || ((\i) == (\c) - 9)
    LOAD_DOUBLED (\c) + 1 - (\i), \i
    LOAD_DOUBLED (\c) + 2 - (\i), \i
    .endif
    slli a15, a14, 5
    MULTIPLY_OWN (\c), \i, a5, a6
    MULTIPLY_OWN (\c) + 1, \i, a7, a8
    MULTIPLY_OWN (\c) + 2, \i, a9, a10
    .endif
    .endr
.endm

# Sets `low` to the lowest limb of a column and `high` to the carry. a15 is the mask of a limb.
.macro TAKE high, low
    slli a2, \high, 27
    sub \low, \low, a2
    extui a2, \low, 26, 6
    addx2 \high, \high, a2
    and \low, \low, a15
.endm

.macro MASK
    movi a15, -1
    srli a15, a15, 6
.endm

# Takes the limbs of the columns c to c + 2, from 9 on.
.macro KEEP c
    MASK
    .if (\c) > 9
    l32i a2, a1, 0
    add a6, a6, a2
    .endif
    TAKE a5, a6
    s32i a6, a1, 4 + 4 * ((\c) - 9)
    .if (\c) < 18
    add a8, a8, a5
    TAKE a7, a8
    s32i a8, a1, 4 + 4 * ((\c) - 8)
    add a10, a10, a7
    TAKE a9, a10
    s32i a10, a1, 4 + 4 * ((\c) - 7)
    s32i a9, a1, 0
    .endif
.endm

# Adds column k + 10, in `upper`, and the one below it, in `before`, to column k.
.macro FOLD k, high, low, upper, before
    l32i \upper, a1, 4 + 4 * ((\k) + 1)
    mull a2, \upper, a13
    add \low, \low, a2
    muluh a2, \upper, a14
    add \high, \high, a2
    .if (\k) > 0
    slli a2, \before, 10
    add \low, \low, a2
    extui a2, \before, 17, 9
    add \high, \high, a2
    .endif
.endm

# Sets a13 to 16 * 977 and a14 to the same times 2^5.
.macro FOLD_CONSTANTS
    movi a13, 977
    slli a13, a13, 4
    slli a14, a13, 5
.endm

# Folds into the columns c to c + 2, below 9, and stores their limbs.
.macro STORE c
    MASK
    FOLD_CONSTANTS
    .if (\c) > 0
    l32i a2, a1, 0
    add a6, a6, a2
    l32i a12, a1, 4 + 4 * (\c)
    .endif
    FOLD (\c), a5, a6, a11, a12
    TAKE a5, a6
    add a8, a8, a5
    FOLD (\c) + 1, a7, a8, a12, a11
    TAKE a7, a8
    add a10, a10, a7
    FOLD (\c) + 2, a9, a10, a11, a12
    TAKE a9, a10
    l32i a2, a1, 48
    s32i a6, a2, 4 * (\c)
    s32i a8, a2, 4 * ((\c) + 1)
    s32i a10, a2, 4 * ((\c) + 2)
    s32i a9, a1, 0
.endm

# Computes the whole from the sums of products.
.macro REDUCED products
    entry a1, 80
    s32i a2, a1, 48
    \products 9
    KEEP 9
    \products 12
    KEEP 12
    \products 15
    KEEP 15
    \products 18
    KEEP 18
    s32i a5, a1, 44
    \products 0
    STORE 0
    \products 3
    STORE 3
    \products 6
    STORE 6
    # Column 9: a9 is the carry of column 8, a11 column 18.
    mov a12, a11
    l32i a6, a1, 4
    add a6, a6, a9
    l32i a11, a1, 44
    mull a2, a11, a13
    add a6, a6, a2
    muluh a5, a11, a14
    slli a2, a12, 10
    add a6, a6, a2
    extui a2, a12, 17, 9
    add a5, a5, a2
    TAKE a5, a6
    # a7: the rest with the weight 2^256. a8 and a9: that with 2^260, in two limbs.
    extui a7, a6, 22, 4
    slli a2, a5, 4
    add a7, a7, a2
    slli a6, a6, 10
    srli a6, a6, 10
    slli a8, a11, 10
    and a8, a8, a15
    extui a9, a11, 16, 16
    l32i a3, a1, 48
    s32i a6, a3, 36
    # Limb 0.
    l32i a6, a3, 0
    srli a2, a13, 4
    mull a2, a7, a2
    add a6, a6, a2
    mull a2, a8, a13
    add a6, a6, a2
    muluh a5, a8, a14
    TAKE a5, a6
    s32i a6, a3, 0
    # Limb 1.
    l32i a6, a3, 4
    add a6, a6, a5
    slli a2, a7, 6
    add a6, a6, a2
    mull a2, a9, a13
    add a6, a6, a2
    slli a2, a8, 10
    add a6, a6, a2
    extui a5, a8, 17, 9
    TAKE a5, a6
    s32i a6, a3, 4
    # Limb 2.
    l32i a6, a3, 8
    add a6, a6, a5
    slli a2, a9, 10
    add a6, a6, a2
    s32i a6, a3, 8
    retw
.endm

    .section .text.endseal_field26, "ax"
    .align 4
    .global endseal_field26_multiply
    .type endseal_field26_multiply, @function
endseal_field26_multiply:
    REDUCED PRODUCTS
    .size endseal_field26_multiply, . - endseal_field26_multiply

    .align 4
    .global endseal_field26_square
    .type endseal_field26_square, @function
endseal_field26_square:
    REDUCED SQUARES
    .size endseal_field26_square, . - endseal_field26_square
