"""Links the static library of the board's instruction set. PlatformIO runs it for each project."""

from os.path import isdir, join, realpath

Import("env")  # noqa: F821 - defined by PlatformIO

flags = [str(flag) for flag in env.get("LINKFLAGS", []) + env.get("CCFLAGS", [])]  # noqa: F821


def value(name):
    """The value of a compiler's flag, or an empty text."""
    return next((flag.split("=", 1)[1] for flag in flags if flag.startswith(f"-{name}=")), "")


# The folders that Arduino looks in: for ARM the core and its floating point ABI, else the chip.
cpu = value("mcpu")
fpu = f"{value('mfpu')}-{value('mfloat-abi')}"
names = [join(cpu, fpu), cpu] if cpu.startswith("cortex-") else [env.get("BOARD_MCU", "")]  # noqa: F821
folders = [folder for folder in (realpath(join("src", name)) for name in names if name)
           if isdir(folder)]
if not folders:
    print(f"endseal-nostr has no library for {' or '.join(names)}")
    env.Exit(1)  # noqa: F821
env.Append(LIBPATH=folders[:1], LIBS=["endseal_nostr"])  # noqa: F821
