"""endseal.nostr as its users have it, beside nostr-sdk."""

from __future__ import annotations

import copy
import json
import pickle
import time
from datetime import timedelta

import endseal
import nostr_sdk  # type: ignore[import-untyped]
import pytest
from endseal.nostr import Answer, NostrKey, RemoteSigner, public_key, verify_event


@pytest.fixture(scope="module")
def alice() -> NostrKey:
    return NostrKey.generate()


@pytest.fixture(scope="module")
def bob() -> NostrKey:
    return NostrKey.generate()


def fails(code: str, call: object, *args: object, **options: object) -> None:
    assert callable(call)
    with pytest.raises(endseal.EndsealError) as raised:
        call(*args, **options)
    assert raised.value.code == code, raised.value


def test_both_owners_of_two_keys_read_what_one_encrypts(alice: NostrKey, bob: NostrKey) -> None:
    carol = NostrKey.generate()
    for text in ("a", 'é 😀 "\\\n\u0001', "x" * 70_000):
        payload = alice.encrypt(bob.public_key, text)
        assert bob.decrypt(alice.public_key, payload) == text
        assert alice.decrypt(bob.public_key, payload) == text
        assert payload != alice.encrypt(bob.public_key, text)
        fails("authentication", carol.decrypt, alice.public_key, payload)
        changed = payload[:20] + ("B" if payload[20] == "A" else "A") + payload[21:]
        fails("authentication", bob.decrypt, alice.public_key, changed)
    fails("version", bob.decrypt, alice.public_key, "#" + "A" * 200)
    fails("length", bob.decrypt, alice.public_key, "A" * 20)
    fails("encoding", bob.decrypt, alice.public_key, "Ag" + "!" * 200)
    fails("length", alice.encrypt, bob.public_key, "")
    fails("argument", alice.encrypt, "00" * 32, "a")


def test_a_private_message_has_a_wrap_for_each(alice: NostrKey, bob: NostrKey) -> None:
    carol = NostrKey.generate()
    to = [bob.public_key, carol.public_key, bob.public_key]
    rumor, copies = alice.wrap("at noon", to)
    assert list(copies) == [bob.public_key, carol.public_key, alice.public_key]
    assert (rumor["kind"], rumor["content"], rumor["pubkey"]) == (14, "at noon", alice.public_key)
    assert rumor["tags"] == [["p", bob.public_key], ["p", carol.public_key]]
    for receiver in (alice, bob, carol):
        event = copies[receiver.public_key]
        verify_event(event)
        assert event["kind"] == 1059 and event["pubkey"] != alice.public_key
        assert time.time() - 2 * 86_400 - 60 < event["created_at"] <= time.time()
        assert receiver.unwrap(event) == receiver.unwrap(json.dumps(event)) == (rumor, None, False)
    fails("authentication", carol.unwrap, copies[bob.public_key])
    fails("authentication", bob.unwrap, {**copies[bob.public_key], "created_at": 5})
    fails("wrap", bob.unwrap, rumor)
    fails("kind", bob.unwrap, alice.sign({"kind": 1}))
    fails("argument", alice.wrap, "x", [])
    fails("argument", alice.wrap, "x", ["npub1wrong"])
    fails("event", alice.wrap, {"kind": 7, "pubkey": bob.public_key}, [bob.public_key])
    with pytest.raises(TypeError):
        alice.wrap("x", bob.public_key)
    reaction = {"kind": 7, "created_at": 1_700_000_000, "content": "+"}
    after = timedelta(hours=1)
    rumor, copies = alice.wrap(reaction, to, ephemeral=True, expires_after=after)
    opened, expiration, is_ephemeral = bob.unwrap(copies[bob.public_key])
    assert opened == rumor and rumor["kind"] == 7 and is_ephemeral
    assert expiration is not None
    assert 3_500 < expiration - time.time() < 3_600 + 2 * 86_400


def test_no_one_wraps_in_the_name_of_another(alice: NostrKey, bob: NostrKey) -> None:
    carol, once = NostrKey.generate(), NostrKey.generate()
    rumor, _ = alice.wrap("at noon", [bob.public_key])
    content = carol.encrypt(bob.public_key, json.dumps(rumor))
    seal = carol.sign({"kind": 13, "content": content})
    content = once.encrypt(bob.public_key, json.dumps(seal))
    tags = [["p", bob.public_key]]
    wrap = once.sign({"kind": 1059, "tags": tags, "content": content})
    with pytest.raises(endseal.AuthenticationError) as raised:
        bob.unwrap(wrap)
    assert raised.value.code == "author"


def test_events_are_signed_and_changed_ones_noticed(alice: NostrKey, bob: NostrKey) -> None:
    event = alice.sign({"kind": 1, "content": 'é "\\\n\u0001', "tags": [["t", 'a"b']]})
    verify_event(event)
    verify_event(json.dumps(event))
    changes: list[dict[str, object]] = [{"content": "x"}, {"kind": 2}, {"pubkey": bob.public_key}]
    for change in changes:
        fails("authentication", verify_event, {**event, **change})
    fails("event", verify_event, {**event, "sig": "x"})
    fails("event", verify_event, '{"kind":1,' + json.dumps(event)[1:])
    fails("event", alice.sign, {"kind": 1, "pubkey": bob.public_key})


def test_keys_stay_behind_the_handle(bob: NostrKey) -> None:
    key = NostrKey.generate()
    text = key.lock("correct horse cafe\u0301")
    assert NostrKey.unlock(f" {text}\n", "correct horse caf\u00e9").public_key == key.public_key
    fails("passphrase", NostrKey.unlock, text, "wrong")
    fails("limit", NostrKey.unlock, text, "wrong", max_log_n=15)
    fails("header", NostrKey.unlock, text[1:], "wrong")
    fails("argument", NostrKey.unlock, text, "x" * 5_000)
    fails("argument", key.lock, "x", log_n=15)
    public = {name for name in dir(key) if not name.startswith("_")}
    known = "close decrypt encrypt generate lock public_key sign unlock unwrap wrap"
    assert public == set(known.split()), public
    for steal in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            steal(key)
    with pytest.raises(TypeError):
        NostrKey()
    with key as same:
        payload = same.encrypt(bob.public_key, "x")
    fails("argument", key.encrypt, bob.public_key, "x")
    assert "closed" in repr(key) and payload
    npub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"
    assert public_key(npub).startswith("7e7e9c42")
    fails("argument", public_key, npub[1:])


def test_nostr_sdk_reads_what_we_make_and_the_other_way_round() -> None:
    theirs, ours = nostr_sdk.Keys.generate(), NostrKey.generate()
    own = nostr_sdk.PublicKey.parse(ours.public_key)
    peer = theirs.public_key().to_hex()
    for text in ("a", 'é 😀 "\\\n', "x" * 20_000):
        payload = ours.encrypt(peer, text)
        assert nostr_sdk.nip44_decrypt(theirs.secret_key(), own, payload) == text
        version = nostr_sdk.Nip44Version.V2
        payload = nostr_sdk.nip44_encrypt(theirs.secret_key(), own, text, version)
        assert ours.decrypt(peer, payload) == text
        rumor, copies = ours.wrap(text, [peer])
        event = nostr_sdk.Event.from_json(json.dumps(copies[peer]))
        found = nostr_sdk.UnwrappedGift.from_gift_wrap(theirs, event)
        assert json.loads(found.rumor().as_json()) == rumor
        assert found.sender().to_hex() == ours.public_key
        draft = nostr_sdk.EventBuilder(nostr_sdk.Kind(14), text).finalize_unsigned(theirs.public_key())
        wrap = nostr_sdk.nip59_make_gift_wrap(theirs, own, draft)
        opened, _, _ = ours.unwrap(wrap.as_json())
        assert (opened["content"], opened["pubkey"]) == (text, peer)
        assert nostr_sdk.Event.from_json(json.dumps(ours.sign({"kind": 1, "content": text}))).verify()
        event = nostr_sdk.EventBuilder(nostr_sdk.Kind(1), text).finalize(theirs)
        verify_event(event.as_json())


class Signer:
    """A signer that answers by hand, to try what a client does with wrong answers."""

    def __init__(self) -> None:
        self.key = NostrKey.generate()
        self.relay = "wss://127.0.0.1"
        uri = f"bunker://{self.key.public_key}?relay={self.relay}&secret=s"
        self.app = NostrKey.generate()
        self.client = RemoteSigner(uri, self.app)
        self.client.connected(self.relay)
        assert json.loads(self.client.outgoing(self.relay)[0])[0] == "REQ"

    def event(self, text: str, author: NostrKey | None = None) -> str:
        author = author or self.key
        content = author.encrypt(self.app.public_key, text)
        tags = [["p", self.app.public_key]]
        event = author.sign({"kind": 24_133, "tags": tags, "content": content})
        return json.dumps(["EVENT", "endseal", event])

    def answer(self, request: str, **members: str) -> str:
        return self.event(json.dumps({"id": request, **members}))


def test_a_client_believes_its_signer_alone() -> None:
    at = Signer()
    request = at.client.request("ping")
    (sent,) = at.client.outgoing(at.relay)
    event = json.loads(sent)[1]
    verify_event(event)
    message = json.loads(at.key.decrypt(at.app.public_key, event["content"]))
    assert message == {"id": request.id, "method": "ping", "params": []}
    pong = json.dumps({"id": request.id, "result": "pong"})
    good = at.event(pong)
    of_another = at.event(pong, NostrKey.generate())
    named = json.loads(of_another)
    named[2]["pubkey"] = at.key.public_key
    changed = json.loads(good)
    changed[2]["created_at"] += 1
    for wrong in (
        of_another,
        json.dumps(named),
        json.dumps(changed),
        at.answer("another id", result="pong"),
        at.event("no JSON"),
        good.replace('"endseal"', '"another"', 1),
        '["EVENT"',
        "[]",
        "[" * 100_000,
        '["EVENT","endseal",5]',
        " " * 700_000,
    ):
        assert at.client.receive(at.relay, wrong) is None, wrong[:80]
    answer = at.client.receive(at.relay, good)
    assert answer is not None and answer.request == request and answer.result() == "pong"
    assert at.client.receive(at.relay, good) is None


def test_answers_of_a_signer() -> None:
    at = Signer()
    request = at.client.sign({"kind": 1, "content": "a", "created_at": 5})
    page = at.answer(request.id, result="auth_url", error="https://example.org/a")
    answer = at.client.receive(at.relay, page)
    assert answer is not None and answer.auth_url == "https://example.org/a"
    assert at.client.receive(at.relay, page) is None
    fails("argument", answer.result)
    user = NostrKey.generate()
    other = json.dumps(user.sign({"kind": 1, "content": "b", "created_at": 5}))
    answer = at.client.receive(at.relay, at.answer(request.id, result=other))
    assert answer is not None
    fails("event", answer.result)
    request = at.client.sign({"kind": 1, "content": "a"})
    answer = at.client.receive(at.relay, at.answer(request.id, error="no\u202e\n"))
    assert answer is not None and "\n" not in str(answer.error) and "\u202e" not in str(answer.error)
    with pytest.raises(endseal.RefusedError):
        answer.result()
    # A log-in to the relay, after which everything is sent again.
    request = at.client.request("ping")
    at.client.outgoing(at.relay)
    assert at.client.receive(at.relay, '["AUTH","challenge"]') is None
    (sent,) = at.client.outgoing(at.relay)
    login = json.loads(sent)[1]
    assert login["tags"] == [["relay", at.relay], ["challenge", "challenge"]]
    verify_event(login)
    assert at.client.receive(at.relay, json.dumps(["OK", login["id"], True, ""])) is None
    again = [json.loads(it)[0] for it in at.client.outgoing(at.relay)]
    assert again == ["REQ", "EVENT"]
    for _ in range(20):
        at.client.receive(at.relay, '["AUTH","challenge"]')
    assert len(at.client.outgoing(at.relay)) == 7
    request = at.client.request("ping")
    event = json.loads(at.client.outgoing(at.relay)[0])[1]
    answer = at.client.receive(at.relay, json.dumps(["OK", event["id"], False, "blocked: x"]))
    assert answer is not None
    fails("relay", answer.result)
    fails("limit", at.client.encrypt, user.public_key, "x" * 600_000)
    for uri in ("bunker://", "bunker://" + user.public_key + "?relay=ws://192.0.2.1"):
        fails("argument", RemoteSigner, uri, at.app)


def test_a_signer_accepts_an_invitation() -> None:
    app, signer, other = (NostrKey.generate() for _ in range(3))
    relay = "wss://127.0.0.1"
    client = RemoteSigner.invite(app, [relay], name="a b", permissions=["sign_event:1"])
    assert client.uri is not None and client.uri.startswith(f"nostrconnect://{app.public_key}?")
    secret = client.uri.split("secret=")[1].split("&")[0]
    client.connected(relay)
    (subscription,) = client.outgoing(relay)
    assert "authors" not in json.loads(subscription)[2]
    fails("argument", client.get_public_key)

    def answer(author: NostrKey, **members: str) -> str:
        content = author.encrypt(app.public_key, json.dumps({"id": "x", **members}))
        tags = [["p", app.public_key]]
        event = author.sign({"kind": 24_133, "tags": tags, "content": content})
        return json.dumps(["EVENT", "endseal", event])

    for members in ({"result": "ack"}, {"result": secret[1:]}, {"error": secret}, {"result": ""}):
        assert client.receive(relay, answer(other, **members)) is None
    came = client.receive(relay, answer(signer, result=secret))
    assert came is not None and came.result() == "ack" and client.signer == signer.public_key
    assert client.receive(relay, answer(other, result=secret)) is None
    request = client.get_public_key()
    assert json.loads(client.outgoing(relay)[0])[1]["tags"] == [["p", signer.public_key]]
    assert client.receive(relay, json.dumps([])) is None and request.method == "get_public_key"
    for relays in ([], ["no URL"], ["ws://192.0.2.1"], [relay, "wss://a b"]):
        fails("argument", RemoteSigner.invite, app, relays)


RELAY = "wss://relay.example"


class Peers:
    """A client of a remote signer, and the signer."""

    def __init__(self) -> None:
        self.signer, self.user, self.own = (NostrKey.generate() for _ in range(3))
        uri = f"bunker://{self.signer.public_key}?relay={RELAY}&secret=a-secret"
        self.client = RemoteSigner(uri, self.own)
        self.client.connected(RELAY)
        self.client.outgoing(RELAY)

    def receive(self, **response: str) -> Answer | None:
        [request] = [json.loads(it) for it in self.client.outgoing(RELAY)]
        asked = json.loads(self.signer.decrypt(self.own.public_key, request[1]["content"]))
        text = json.dumps({"id": asked["id"], **response})
        content = self.signer.encrypt(self.own.public_key, text)
        tags = [["p", self.own.public_key]]
        event = self.signer.sign({"kind": 24133, "tags": tags, "content": content})
        return self.client.receive(RELAY, json.dumps(["EVENT", "endseal", event]))

    def answer(self, **response: str) -> Answer:
        answer = self.receive(**response)
        assert answer is not None
        return answer


def test_no_message_of_a_relay_raises_or_is_an_answer() -> None:
    peers = Peers()
    peers.client.connect()
    assert len(peers.client.outgoing(RELAY)) == 1
    for message in (
        '["AUTH","\\ud800"]',
        '["AUTH",{"a":1}]',
        '["OK",null,true]',
        '["OK",[],false,{"a":1}]',
        '["OK","x",false,"\\ud800"]',
        '["AUTH",' + "[" * 900 + "]" * 900 + "]",
    ):
        assert peers.client.receive(RELAY, message) is None
        assert peers.client.outgoing(RELAY) == [], message
    peers.own.close()
    assert peers.client.receive(RELAY, '["AUTH","challenge"]') is None


def test_a_signer_signs_with_the_key_of_its_user() -> None:
    peers = Peers()
    peers.client.get_public_key()
    assert peers.answer(result=peers.user.public_key).result() == peers.user.public_key
    template = {"kind": 1, "created_at": 5, "tags": [], "content": "hello"}
    for key, code in ((peers.signer, "event"), (peers.user, None)):
        peers.client.sign(template)
        answer = peers.answer(result=json.dumps(key.sign(template)))
        assert (answer.error.code if answer.error else None) == code
    peers.client.get_public_key()
    fails("event", peers.answer(result="no key").result)


def test_pages_for_approval_are_safe() -> None:
    for url, is_shown in (
        ("https://ok.example/x", True),
        ("http://127.0.0.1:80/", True),
        ("http://plain.example", False),
        ("https://user:pw@host.example", False),
        ("https://[::1", False),
    ):
        peers = Peers()
        peers.client.connect()
        answer = peers.receive(result="auth_url", error=url)
        assert (answer.auth_url if answer else None) == (url if is_shown else None)


def test_a_relay_is_a_url_without_a_fragment(alice: NostrKey) -> None:
    for relay in ("wss://a.example/#x", "wss://[::1", "wss://a\nwss://b"):
        fails("argument", RemoteSigner.invite, alice, [relay], allow_insecure=True)


def test_requests_and_answers_show_no_secrets() -> None:
    peers = Peers()
    assert "a-secret" not in repr(peers.client.connect())
    assert "the result" not in repr(peers.answer(result="the result"))


def test_arguments_beyond_their_limits_are_refused(alice: NostrKey, bob: NostrKey) -> None:
    class NotATime(timedelta):
        def total_seconds(self) -> float:
            return float("nan")

    fails("argument", alice.lock, "x", log_n=300)
    fails("argument", alice.wrap, "x", [bob.public_key], expires_after=NotATime())
