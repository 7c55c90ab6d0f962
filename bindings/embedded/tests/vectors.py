"""Writes the vectors of the repository as lines for `test.c`: an operation, the expected status, and
fields in hexadecimal. Cases that depend on state that this interface leaves to the caller are
counted and left out."""

import json
import sys
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[3] / "vectors"
# Numbers of endseal_nostr.h.
OK, LENGTH, SECRET_KEY, PUBLIC_KEY, JSON, SIGNATURE, DECRYPTION, IGNORED = 0, 2, 6, 7, 9, 10, 11, 12
KEY = 1000  # SECRET_KEY or PUBLIC_KEY
LONGEST_PLAINTEXT = 8192
LONGEST_TEXT = 16384
REFUSE, ALLOW = 0, 1

lines = []
left_out = 0


def line(operation, status, *fields):
    """Adds a case. Fields are bytes, texts, numbers, or a text with its number of repetitions."""

    def text(field):
        if isinstance(field, int):
            return f"{field:x}"
        if isinstance(field, tuple):
            pattern, count = field
            return f"{count:x}*{pattern.encode().hex()}"
        return (field if isinstance(field, bytes) else field.encode()).hex() or "-"

    lines.append(" ".join([operation, str(status), *map(text, fields)]))


def unhex(text):
    return bytes.fromhex(text)


def load(path):
    return json.loads((VECTORS / path).read_text())


def open_status(payload):
    return LENGTH if len(payload) > LONGEST_TEXT else DECRYPTION


def official():
    vectors = load("third-party/nostr/nip44.json")
    valid, invalid = vectors["valid"], vectors["invalid"]
    for case in valid["get_conversation_key"]:
        fields = (case["sec1"], case["pub2"], case["conversation_key"])
        line("conversation", OK, *map(unhex, fields))
    for case in invalid["get_conversation_key"]:
        line("conversation", KEY, unhex(case["sec1"]), unhex(case["pub2"]), bytes(32))
    for case in valid["encrypt_decrypt"]:
        fields = (case["sec1"], case["sec2"], case["conversation_key"], case["nonce"])
        line("pair", OK, *map(unhex, fields), case["plaintext"], case["payload"])
    for case in [*valid["encrypt_decrypt_long_msg"], *valid["extended"]]:
        # Beyond the buffers of this interface.
        assert case["repeat"] > LONGEST_PLAINTEXT
        plaintext = case["pattern"], case["repeat"]
        line("seal", LENGTH, unhex(case["conversation_key"]), unhex(case["nonce"]), plaintext, "")
    for case in invalid["decrypt"]:
        key, payload = unhex(case["conversation_key"]), case["payload"]
        line("open", open_status(payload), key, payload, "")


def nip44():
    global left_out
    for case in load("nostr/nip44.json"):
        if case["op"] == "key":
            is_ok = case["expect"] == "ok"
            key = unhex(case["conversation_key"]) if is_ok else bytes(32)
            status = OK if is_ok else KEY
            line("conversation", status, unhex(case["secret"]), unhex(case["public"]), key)
            continue
        key = unhex(case["conversation_key"])
        nonce = unhex(case.get("nonce", ""))
        if "plaintext" in case:
            plaintext = unhex(case["plaintext"])
        elif case.get("plaintext_length", 1 << 30) <= 1 << 17:
            plaintext = chr(case["plaintext_byte"]), case["plaintext_length"]
        else:
            plaintext = None
        if "plaintext_length" in case and plaintext is None:
            # Gigabytes.
            left_out += 1
        elif case["expect"] == "ok":
            length = plaintext[1] if isinstance(plaintext, tuple) else len(plaintext)
            status = OK if length <= LONGEST_PLAINTEXT else LENGTH
            line("seal", status, key, nonce, plaintext, case.get("payload", ""))
            if "payload" in case:
                payload = case["payload"]
                status = OK if len(payload) <= LONGEST_TEXT else LENGTH
                line("open", status, key, payload, plaintext)
        elif case["op"] == "open":
            line("open", open_status(case["payload"]), key, case["payload"], "")
        else:
            line("seal", LENGTH, key, nonce, plaintext, "")


def nip04():
    for case in load("nostr/nip04.json"):
        keys = unhex(case["secret"]), unhex(case["public"])
        status = OK if case["expect"] == "ok" else open_status(case["content"])
        line("nip04", status, *keys, unhex(case.get("iv", "")), case["content"],
             unhex(case.get("plaintext", "")))


def events():
    global left_out
    for case in load("nostr-events/event.json"):
        event = unhex(case["input_hex"]) if case.get("input") is None else case["input"].encode()
        is_ok = case["expect"] == "ok"
        if case["form"] == "event":
            status = OK if is_ok else SIGNATURE if case["expect"] == "authentication" else JSON
            author = json.loads(event)["pubkey"] if is_ok else ""
            line("verify", status, event, unhex(author))
        if not is_ok or case["form"] == "rumor":
            left_out += case["form"] != "event"
            continue
        members = json.loads(event)
        author, event_id = members.get("pubkey") or "00" * 32, members.get("id") or ""
        if case["form"] == "template":
            author, event_id = "00" * 32, case["id_of_zero"]
        tags = json.dumps(members["tags"])
        line("id", OK, unhex(author), members["created_at"], members["kind"], tags,
             members["content"], unhex(event_id))


def sessions():
    global left_out
    for case in load("nostr-connect/session.json"):
        if case["form"] != "session":
            left_out += 1
            continue
        # Expiry, revocation, locks, limits and repetitions are the caller's.
        if case["state"] != "ready" or case["recorded"] or case["seen"] or case["expect"] in (
                "limit", "ask"):
            left_out += 1
            continue
        event = case["event"] + " " * (case.get("padding") or 0)
        if len(event) > 1 << 17:
            event = event[:LONGEST_TEXT + 1]
        decision = REFUSE if case["expect"] == "denied" else ALLOW
        status = LENGTH if len(event) > LONGEST_TEXT else OK
        if case["expect"] == "ignored" and status == OK:
            status = IGNORED
        answer = json.loads(case["answer"])["content"] if status == OK else ""
        line("answer", status, unhex(case["user_secret"]), unhex(case["transport_secret"]),
             unhex(case["paired"] or ""), case["secret"] or "", case["now"], case["floor"],
             unhex(case["nonce"]), decision, event, answer)


for write in (official, nip44, nip04, events, sessions):
    write()
Path(sys.argv[1]).write_text("".join(f"{it}\n" for it in lines))
print(f"{len(lines)} vectors, {left_out} left out")
