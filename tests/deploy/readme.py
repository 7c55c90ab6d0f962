"""Commands in the fenced blocks of a README, which a test takes one after the other.

A line is run as it stands in the document. Only names in `replaced` are changed.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Readme:
    def __init__(self, path, sections):
        self.path = path
        self.lines = []
        text = (ROOT / path).read_text()
        for title in sections:
            self.lines += commands(text, title, path)
        self.unused = list(self.lines)

    def take(self, start):
        """Returns the first unused line that begins with `start`."""
        for line in self.unused:
            if line.startswith(start):
                self.unused.remove(line)
                return line
        raise AssertionError(f"{self.path} has no further command that begins with {start!r}")

    def all_were_run(self):
        assert not self.unused, f"commands of {self.path} that were not run: {self.unused}"


def commands(text, title, path):
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    section = next((part for part in parts if part.startswith(f"{title}\n")), None)
    assert section, f"{path} has no section '{title}'"
    blocks = re.findall(r"^```\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    assert blocks, f"the section '{title}' of {path} has no commands"
    lines = "".join(blocks).splitlines()
    # Comments begin after two blanks or more.
    return [re.sub(r"\s{2,}#.*", "", line).strip() for line in lines]
