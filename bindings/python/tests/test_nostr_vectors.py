"""The vectors of docs/spec/nostr.md."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import endseal
import pytest
from endseal import _native
from endseal.nostr import NostrKey

VECTORS = Path(__file__).parents[3] / "vectors" / "nostr"

pytestmark = pytest.mark.skipif(
    not hasattr(NostrKey, "_from_bytes"), reason="not a build for the vectors"
)


def every(name: str, counts: tuple[int, int], run: Callable[[dict[str, Any]], None]) -> None:
    """Runs all vectors of a file, and counts those that opened and those that were refused."""
    opened, refused = 0, 0
    for vector in json.loads((VECTORS / f"{name}.json").read_text()):
        try:
            run(vector)
            verdict = "ok"
            opened += 1
        except endseal.EndsealError as error:
            verdict = error.code
            refused += 1
        assert verdict == vector["expect"], (name, vector["comment"])
    print(f"{name}: {opened + refused} vectors: {opened} opened, {refused} refused")
    assert (opened, refused) == counts


def key_of(digits: str) -> NostrKey:
    made: NostrKey = NostrKey._from_bytes(bytes.fromhex(digits))  # type: ignore[attr-defined]
    return made


def test_every_vector_of_nip44() -> None:
    conversations: Any = getattr(_native, "_TestConversation")

    def run(vector: dict[str, Any]) -> None:
        if vector["op"] == "key":
            keys = [bytes.fromhex(vector[name]) for name in ("secret", "public")]
            assert bytes(conversations.key(*keys)).hex() == vector["conversation_key"]
            return
        conversation = conversations(bytes.fromhex(vector["conversation_key"]))
        plaintext = bytes.fromhex(vector.get("plaintext", ""))
        if "plaintext_byte" in vector:
            plaintext = bytes([vector["plaintext_byte"]]) * vector["plaintext_length"]
        if vector["op"] == "seal":
            is_short = vector["lengths"] != "extended"
            conversation.seal(plaintext, bytes.fromhex(vector["nonce"]), is_short)
            return
        payload = vector.get("payload")
        if vector["expect"] == "ok":
            sealed = conversation.seal(plaintext, bytes.fromhex(vector["nonce"]), False)
            assert payload in (None, sealed), vector["comment"]
            payload = sealed
        assert conversation.open(payload) == plaintext, vector["comment"]

    every("nip44", (15, 70), run)


def test_every_vector_of_gift_wraps() -> None:
    def run(vector: dict[str, Any]) -> None:
        rumor, expiration, is_ephemeral = key_of(vector["receiver_secret"]).unwrap(vector["wrap"])
        assert rumor == json.loads(vector["rumor"]) and rumor["pubkey"] == vector["author"]
        assert expiration == vector.get("expiration")
        assert is_ephemeral == (vector["lifetime"] == "ephemeral")

    every("gift-wrap", (9, 47), run)


def test_every_vector_of_encrypted_keys() -> None:
    codes = {"authentication": "passphrase", "key": "passphrase", "version": "version"}

    def run(vector: dict[str, Any]) -> None:
        try:
            key = NostrKey.unlock(
                vector["text"], vector["password"], max_log_n=vector["max_log_n"]
            )
        except endseal.EndsealError as error:
            # A cost that no key may have is no form; one above the limit is.
            is_limit = "above the reader" in vector["comment"]
            code = codes.get(vector["expect"], "limit" if is_limit else "header")
            assert error.code == code, vector["comment"]
            raise endseal.EndsealError(vector["expect"], "")
        assert key.public_key == key_of(vector["secret"]).public_key

    every("encrypted-key", (8, 34), run)


def test_every_vector_of_others() -> None:
    conversations: Any = getattr(_native, "_TestConversation")
    folder = VECTORS.with_name("third-party") / "nostr"
    nip44, nip17, nip49 = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("nip44", "nip17", "nip49")
    )
    valid, invalid = nip44["valid"], nip44["invalid"]
    count = 0
    for it in valid["get_conversation_key"]:
        key = conversations.key(bytes.fromhex(it["sec1"]), bytes.fromhex(it["pub2"]))
        assert bytes(key).hex() == it["conversation_key"]
        count += 1
    for it in invalid["get_conversation_key"]:
        with pytest.raises(endseal.EndsealError) as raised:
            conversations.key(bytes.fromhex(it["sec1"]), bytes.fromhex(it["pub2"]))
        assert raised.value.code == "key", it["note"]
        count += 1
    for it in valid["encrypt_decrypt"]:
        conversation = conversations(bytes.fromhex(it["conversation_key"]))
        plaintext, nonce = it["plaintext"].encode(), bytes.fromhex(it["nonce"])
        assert conversation.seal(plaintext, nonce, True) == it["payload"]
        one, other = key_of(it["sec1"]), key_of(it["sec2"])
        assert one.decrypt(other.public_key, it["payload"]) == it["plaintext"]
        assert other.decrypt(one.public_key, it["payload"]) == it["plaintext"]
        count += 1
    for it in [*valid["encrypt_decrypt_long_msg"], *valid["extended"]]:
        conversation = conversations(bytes.fromhex(it["conversation_key"]))
        plaintext = (it["pattern"] * it["repeat"]).encode()
        payload = conversation.seal(plaintext, bytes.fromhex(it["nonce"]), False)
        assert hashlib.sha256(payload.encode()).hexdigest() == it["payload_sha256"]
        assert conversation.open(payload) == plaintext
        count += 1
    for it in invalid["decrypt"]:
        with pytest.raises(endseal.EndsealError) as raised:
            conversations(bytes.fromhex(it["conversation_key"])).open(it["payload"])
        assert raised.value.code in ("version", "length", "encoding", "authentication"), it["note"]
        count += 1
    for it in nip17["gift_wraps"]:
        rumor, _, _ = key_of(it["receiver_secret"]).unwrap(it["wrap"])
        assert rumor == json.loads(it["rumor"]) and rumor["pubkey"] == it["author"]
        count += 1
    for it in nip49["decrypt"]:
        unlocked = NostrKey.unlock(it["encrypted_key"], it["password"])
        assert unlocked.public_key == key_of(it["secret_key"]).public_key
        count += 1
    print(f"vectors of others: {count}")
    assert count == 74
