"""Rosters: the vectors of docs/spec/roster.md, and sealing to their members."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import endseal
import pytest
from endseal import Identity, Roster
from scene import clean_environment

VECTORS = Path(__file__).parents[3] / "vectors" / "roster"


def read(text: str) -> Roster:
    """Reads a roster of the owner who vouches for it: one of those that it names."""
    words = [it for it in text.split() if it.startswith("endseal1")]
    error = endseal.EndsealError("form", "no one is named")
    for owner in dict.fromkeys([*words, str(Identity.generate().public)]):
        try:
            return Roster.read(text, owner=owner)
        except endseal.ArgumentError:
            continue
        except endseal.EndsealError as raised:
            error = raised
    raise error


def test_every_vector() -> None:
    accepted, refused, persons = 0, 0, 0
    for file in sorted(VECTORS.glob("*.json")):
        vector: dict[str, Any] = json.loads(file.read_text())
        if vector.get("kind") == "person":
            # Records of a node, which reads them by further rules.
            persons += 1
            continue
        try:
            if "previous" in vector:
                roster = read(vector["previous"]).read_next(vector["roster"])
            else:
                roster = read(vector["roster"])
        except endseal.EndsealError as error:
            assert error.code == vector["expect"], file.name
            refused += 1
            continue
        assert vector["expect"] == "ok", file.name
        names = ("group", "id", "epoch", "digest")
        assert [getattr(roster, it) for it in names] == [vector[it] for it in names], file.name
        for name in ("owner", "signing_owner", "signer"):
            assert getattr(roster, name).key.hex() == vector[name], (file.name, name)
        assert len(roster.members) == vector["members"] == len(roster.recipients()), file.name
        admins = " ".join(it.name for it in roster.members if it.is_admin)
        assert admins == vector["admins"], file.name
        assert bytes(roster) == vector["roster"].encode()
        accepted += 1
    print(f"roster: {accepted + refused} vectors: {accepted} accepted, {refused} refused")
    assert (accepted, refused, persons) == (14, 149, 29)


def run(home: Path, *words: str | Path) -> str:
    done = subprocess.run(
        [os.environ["ENDSEAL_PROGRAM"], "--home", home, *words],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_what_is_sealed_to_a_roster_opens_by_the_program(tmp_path: Path) -> None:
    alice, bob = tmp_path / "alice", tmp_path / "bob"
    for home in (alice, bob):
        run(home, "init", "--no-passphrase")
    run(alice, "contacts", "add", "--local", "bob", run(bob, "id", "show", "--pq").strip())
    run(alice, "group", "create", "team", "bob")
    run(alice, "group", "export", "team", "-o", tmp_path / "first.roster")
    owner = run(alice, "id", "show").strip()
    first = Roster.read((tmp_path / "first.roster").read_bytes(), owner=owner)
    assert (first.group, first.epoch, first.previous) == ("team", 1, None)
    assert str(first.owner) == str(first.signer) == owner
    carol = Identity.generate()
    text = str(carol.public)
    run(alice, "contacts", "add", "--local", "carol", text)
    run(alice, "group", "add", "team", "carol")
    run(alice, "group", "export", "team", "-o", tmp_path / "second.roster")
    second = first.read_next((tmp_path / "second.roster").read_text())
    assert (second.epoch, second.previous) == (2, first.digest)
    assert [it.name for it in second.members] == ["bob", "carol", "owner"]
    assert second.members[1].identity == carol.public and second.recipients().is_post_quantum
    envelope = endseal.seal(
        b"minutes",
        sender=carol,
        recipients=second.recipients(),
        context="endseal/file@v1 content",
    )
    (tmp_path / "minutes.es").write_bytes(envelope)
    run(bob, "contacts", "add", "--local", "carol", text)
    run(bob, "open", "--from", "carol", tmp_path / "minutes.es", "-o", tmp_path / "minutes")
    assert (tmp_path / "minutes").read_bytes() == b"minutes"
    run(alice, "seal", "-g", "team", tmp_path / "minutes", "-o", tmp_path / "again.es")
    opened = endseal.open(
        (tmp_path / "again.es").read_bytes(), identity=carol, context="endseal/file@v1 content"
    )
    assert opened.content == b"minutes" and str(opened.sender) == owner


def test_a_roster_needs_its_owner(tmp_path: Path) -> None:
    text = json.loads((VECTORS / "first.json").read_text())["roster"]
    with pytest.raises(endseal.RefusedError) as raised:
        Roster.read(text, owner=Identity.generate().public)
    assert raised.value.code == "owner"
    with pytest.raises(TypeError):
        Roster.read(text)  # type: ignore[call-arg]
    with pytest.raises(endseal.ArgumentError):
        Roster.read(text, owner="endseal1wrong")
    with pytest.raises(endseal.RefusedError) as raised:
        read(text).read_next(text, allow_gap=True)
    assert raised.value.code == "same"
    with pytest.raises(endseal.FormatError) as too_long:
        read("x" * (64 << 20) + "x")
    assert too_long.value.code == "limit"
