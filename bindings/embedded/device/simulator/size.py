"""Prints the sizes of an ELF file: bytes of flash and of RAM."""

import struct
import sys
from pathlib import Path

elf = Path(sys.argv[1]).read_bytes()
start, size, count = struct.unpack_from("<I", elf, 28) + struct.unpack_from("<HH", elf, 42)
flash = ram = 0
for at in range(start, start + size * count, size):
    kind, _, address, _, stored, used = struct.unpack_from("<6I", elf, at)
    if kind == 1:
        flash += stored
        ram += used if address >= 0x20000000 else 0
print(f"{Path(sys.argv[1]).name}: {flash} bytes of flash, {ram} bytes of RAM without the stack")
