"""The package as its users have it."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import endseal
import pytest
from endseal import Identity, PublicIdentity, Recipients

CONTEXT = "example.org/test"


@pytest.fixture(scope="module")
def alice() -> Identity:
    return Identity.generate()


@pytest.fixture(scope="module")
def bob() -> Identity:
    return Identity.generate()


@pytest.mark.parametrize("length", [0, 1, 16_384, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9 << 20])
def test_memory_and_streams_agree(alice: Identity, bob: Identity, length: int) -> None:
    content = bytes(range(256)) * (length // 256 + 1)
    content = content[:length]
    group = Recipients([bob.public, alice.public])
    whole = endseal.seal(content, sender=alice, recipients=group, context=CONTEXT)
    sink = io.BytesIO()
    count = endseal.seal_stream(
        io.BytesIO(content), sink, sender=alice, recipients=group, context=CONTEXT
    )
    assert count == len(sink.getvalue()) == len(whole)
    for envelope in (whole, sink.getvalue()):
        for reader in (alice, bob):
            opened = endseal.open(envelope, identity=reader, context=CONTEXT)
            assert opened.content == content
            assert opened.sender == alice.public.short
            stream = endseal.open_stream(io.BytesIO(envelope), identity=reader, context=CONTEXT)
            assert stream.sender == alice.public.short and stream.message_id == opened.message_id
            assert stream.suite == opened.suite and stream.time == opened.time
            assert stream.read() == content


def test_a_stream_that_was_cut_raises_at_its_end(alice: Identity, bob: Identity) -> None:
    content = bytes(5 << 20)
    envelope = endseal.seal(content, sender=alice, recipients=[bob.public], context=CONTEXT)
    for cut in (0, 10, 100, 2_000, 4 << 20, len(envelope) - 20_000, len(envelope) - 1):
        source = io.BytesIO(envelope[:cut])
        stream = endseal.open_stream(source, identity=bob, context=CONTEXT)
        read = b""
        with pytest.raises(endseal.EndsealError) as raised:
            while piece := stream.read(1 << 20):
                read += piece
        assert raised.value.code in ("authentication", "header"), raised.value.code
        assert content.startswith(read) and len(read) < len(content)
        # Later reads do not look like an end.
        with pytest.raises(endseal.EndsealError) as again:
            stream.read(1)
        assert again.value.code == raised.value.code


def test_errors_have_classes_and_codes(alice: Identity, bob: Identity) -> None:
    envelope = endseal.seal(b"x", sender=alice, recipients=[bob.public], context=CONTEXT)
    for error, code, given in (
        (endseal.AuthenticationError, "authentication", {"identity": alice}),
        (endseal.AuthenticationError, "authentication", {"context": "example.org/other"}),
        (endseal.RefusedError, "sender", {"senders": [bob.public]}),
        (endseal.RefusedError, "too-old", {"max_age": timedelta(days=1)}),
        (endseal.ArgumentError, "argument", {"context": "x" * 1_025}),
    ):
        options = {"identity": bob, "context": CONTEXT, **given}
        with pytest.raises(error) as raised:
            endseal.open(envelope, **options)  # type: ignore[arg-type]
        assert raised.value.code == code
        again = pickle.loads(pickle.dumps(raised.value))
        assert (type(again), again.code, str(again)) == (error, code, str(raised.value))
    with pytest.raises(endseal.FormatError) as raised:
        endseal.open(b"no envelope", identity=bob, context=CONTEXT)
    assert raised.value.code == "header"
    with pytest.raises(ValueError):
        endseal.seal(b"", sender=alice, recipients=[], context=CONTEXT)
    with pytest.raises(ValueError):
        endseal.seal(b"", sender=alice, recipients=["endseal1wrong"], context=CONTEXT)
    with pytest.raises(TypeError):
        endseal.seal("text", sender=alice, recipients=[bob.public], context=CONTEXT)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        endseal.seal(b"", sender=alice, recipients=str(bob.public), context=CONTEXT)
    with pytest.raises(TypeError):
        endseal.seal(b"", sender=alice, recipients=[bob.public])  # type: ignore[call-arg]


def test_time_and_age(alice: Identity, bob: Identity) -> None:
    now = datetime.now(timezone.utc)
    for time, accepted in (
        (now, True),
        (now - timedelta(hours=2), False),
        (now + timedelta(minutes=1), True),
        (now + timedelta(hours=1), False),
    ):
        envelope = endseal.seal(
            b"", sender=alice, recipients=[bob.public], context=CONTEXT, time=time
        )
        opened = endseal.open(envelope, identity=bob, context=CONTEXT)
        assert opened.time is not None and abs(opened.time - time) < timedelta(milliseconds=1)
        age = timedelta(hours=1)
        if accepted:
            endseal.open(envelope, identity=bob, context=CONTEXT, max_age=age)
        else:
            with pytest.raises(endseal.RefusedError):
                endseal.open(envelope, identity=bob, context=CONTEXT, max_age=age)
    with pytest.raises(ValueError):
        endseal.seal(
            b"", sender=alice, recipients=[bob.public], context=CONTEXT, time=datetime.now()
        )


def test_suites(alice: Identity, bob: Identity) -> None:
    short = bob.public.short
    assert bob.public.is_post_quantum and not short.is_post_quantum
    assert short == bob.public != alice.public and short in {bob.public}
    classical = endseal.seal(
        b"", sender=alice, recipients=[short], context=CONTEXT, suite="x25519"
    )
    with pytest.raises(endseal.RefusedError) as raised:
        endseal.open(classical, identity=bob, context=CONTEXT, require_post_quantum=True)
    assert raised.value.code == "suite"
    with pytest.raises(endseal.ArgumentError):
        endseal.seal(b"", sender=alice, recipients=[short], context=CONTEXT)
    hybrid = endseal.seal(b"", sender=alice, recipients=[bob.public], context=CONTEXT)
    endseal.open(hybrid, identity=bob, context=CONTEXT, require_post_quantum=True)
    assert endseal.inspect(hybrid).suite != endseal.inspect(classical).suite


def test_the_number_of_recipients_is_hidden(alice: Identity, bob: Identity) -> None:
    seen = set()
    for count in (1, 3, 8):
        group = [Identity.generate().public for _ in range(count - 1)] + [bob.public]
        envelope = endseal.seal(
            b"abc", sender=alice, recipients=group, context=CONTEXT, hide_count=True
        )
        seen.add(endseal.inspect(envelope).slots)
        assert endseal.inspect(envelope).content_length == 3
        assert endseal.open(envelope, identity=bob, context=CONTEXT).content == b"abc"
    assert seen == {8}


def test_a_backlog_keeps_its_order(alice: Identity, bob: Identity) -> None:
    sealed = [
        endseal.seal(str(at).encode(), sender=alice, recipients=[bob.public], context=CONTEXT)
        for at in range(20)
    ]
    sealed[7] = sealed[7][:-1] + bytes([sealed[7][-1] ^ 1])
    results = endseal.open_many(sealed, identity=bob, context=CONTEXT)
    for at, result in enumerate(results):
        if at == 7:
            assert isinstance(result, endseal.AuthenticationError)
        else:
            assert isinstance(result, endseal.Opened) and result.content == str(at).encode()


def test_an_identity_is_kept_in_a_file(alice: Identity, tmp_path: Path) -> None:
    file = tmp_path / "identity"
    file.write_text(alice.lock("correct horse battery staple"))
    assert Identity.unlock(file.read_text(), "correct horse battery staple").public == alice.public
    assert Identity.unlock(file.read_bytes(), "correct horse battery staple").public == alice.public
    for wrong in ("wrong horse battery staple", ""):
        with pytest.raises(endseal.AuthenticationError) as raised:
            Identity.unlock(file.read_bytes(), wrong)
        assert raised.value.code == "passphrase"
    with pytest.raises(endseal.FormatError):
        Identity.unlock(b"no file", "x")


def test_secrets_stay_behind_the_handle(bob: Identity) -> None:
    identity = Identity.generate()
    public = [name for name in dir(identity) if not name.startswith("_")]
    assert sorted(public) == ["close", "generate", "lock", "public", "unlock"], public
    for steal in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            steal(identity)
    with pytest.raises(TypeError):
        Identity()
    with identity as same:
        assert same is identity
        envelope = endseal.seal(b"", sender=same, recipients=[bob.public], context=CONTEXT)
    with pytest.raises(endseal.ArgumentError):
        endseal.seal(b"", sender=identity, recipients=[bob.public], context=CONTEXT)
    with pytest.raises(endseal.ArgumentError):
        print(identity.public)
    assert "closed" in repr(identity)
    endseal.open(envelope, identity=bob, context=CONTEXT)


def test_keys_are_wiped_while_a_call_runs() -> None:
    identity = Identity.generate()
    locked: list[str] = []
    thread = threading.Thread(target=lambda: locked.append(identity.lock("a long passphrase")))
    thread.start()
    while thread.is_alive() and not locked:
        identity.close()
    thread.join()
    with pytest.raises(endseal.ArgumentError):
        identity.lock("a long passphrase")


def test_public_identities_are_values(bob: Identity) -> None:
    again = PublicIdentity(f" {bob.public}\n")
    assert again == bob.public and hash(again) == hash(bob.public) and len({again, bob.public}) == 1
    assert pickle.loads(pickle.dumps(again)) == again
    assert again != str(again)


def test_all_buffers_are_taken(alice: Identity, bob: Identity) -> None:
    content = bytearray(b"content")
    for given in (bytes(content), content, memoryview(content), memoryview(bytes(content))[::1]):
        envelope = endseal.seal(given, sender=alice, recipients=[bob.public], context=CONTEXT)
        assert endseal.open(memoryview(envelope), identity=bob, context=b"example.org/test").content == content


def test_the_lock_is_released() -> None:
    identity = Identity.generate()
    locked: list[str] = []
    thread = threading.Thread(target=lambda: locked.append(identity.lock("a long passphrase")))
    turns = 0
    thread.start()
    while thread.is_alive():
        turns += 1
    # 0.2 s of Argon2id: a thread that must wait for them has one turn or two.
    assert locked and turns > 1_000, turns


class Silent(io.BytesIO):
    """Takes all, and does not say so, as files of other libraries do."""

    def write(self, data: Any, /) -> Any:
        super().write(data)
        return None


class Full(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> Any:
        return None


def test_a_sink_may_be_silent_and_a_raw_one_may_take_nothing() -> None:
    alice = Identity.generate()
    content, sink = os.urandom(300_000), Silent()
    options: Any = {"sender": alice, "recipients": [alice.public], "context": CONTEXT}
    assert endseal.seal_stream(io.BytesIO(content), sink, **options) == len(sink.getvalue())
    assert endseal.open(sink.getvalue(), identity=alice, context=CONTEXT).content == content
    with pytest.raises(BlockingIOError):
        endseal.seal_stream(io.BytesIO(content), Full(), **options)  # type: ignore[arg-type]


def test_ages_are_durations_from_0() -> None:
    alice = Identity.generate()
    envelope = endseal.seal(b"", sender=alice, recipients=[alice.public], context=CONTEXT)
    for age in (timedelta(seconds=-1), 60):
        wrong: Any = age
        with pytest.raises(endseal.EndsealError) as raised:
            endseal.open(envelope, identity=alice, context=CONTEXT, max_age=wrong)
        assert raised.value.code == "argument"
    time: Any = 1_700_000_000
    with pytest.raises(endseal.EndsealError) as raised:
        endseal.seal(b"", sender=alice, recipients=[alice.public], context=CONTEXT, time=time)
    assert raised.value.code == "argument"
