"""README's examples, as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_bytes(b"many lines\n" * 1_000)
    names: dict[str, object] = {}
    examples = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
    assert len(examples) == 3
    for example in examples:
        exec(example, names)
    assert names["notes"] == b"many lines\n" * 1_000
