"""A client of a remote signer (NIP-46), without I/O."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, cast
from urllib.parse import urlsplit

from .._errors import EndsealError, of
from .._native import NostrKey, _bunker, public_key, verify_event
from ._types import Event

# Kind of the events that carry requests and responses, and of a log-in to a relay (NIP-42).
_KIND = 24_133
_LOGIN = 22_242
# Longest message of a relay that is read.
_MAX_MESSAGE = 640 * 1024
_MAX_RELAYS = 8
# Log-ins that one connection can demand.
_MAX_LOGINS = 8
# Seconds by which the signer's clock may be behind.
_MAX_SKEW = 300
_SUBSCRIPTION = "endseal"
_MAX_PAGE = 2_048
# Characters of an error text that are shown.
_MAX_TEXT = 200


@dataclass(frozen=True)
class Request:
    """A request that waits for its answer."""

    id: str
    method: str
    params: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """What the signer answers to a request. `auth_url` is a page on which a person decides: show it,
    and wait for another answer, up to five minutes."""

    request: Request
    text: Optional[str] = field(default=None, repr=False)
    event: Optional[Event] = field(default=None, repr=False)
    error: Optional[EndsealError] = None
    auth_url: Optional[str] = field(default=None, repr=False)

    def result(self) -> str:
        """The text of the result. Raises the error that there is in its place."""
        if self.error is not None:
            raise self.error
        if self.text is None:
            raise of("argument", "the signer waits for a person, and answers later")
        return self.text


class _Waiting:
    def __init__(self, request: Request) -> None:
        self.request = request
        self.template: Optional[dict[str, Any]] = None
        self.events: set[str] = set()
        self.refusals: dict[str, str] = {}
        self.has_page = False


class _Relay:
    def __init__(self, url: str) -> None:
        self.url = url
        self.is_open = False
        self.logins = 0
        self.login: Optional[str] = None
        self.outgoing: list[str] = []


class RemoteSigner:
    """The protocol between an app and a signer. Your program has the WebSocket connections:

    * call `connected(relay)` when one to a relay is open, and `disconnected(relay)` when it ended;
    * send what `outgoing(relay)` returns, after each other call;
    * give each text message that comes to `receive(relay, message)`, which returns an answer, if there
      is one. It ignores what is not authentic.

    `key` is the one of this app, by which the signer knows it again: keep it.
    """

    #: Public key of the signer; `None` until one has accepted an invitation.
    signer: Optional[str]
    #: The invitation, if this client made one.
    uri: Optional[str]
    _secret: Optional[str]

    def __init__(self, uri: str, key: NostrKey, *, allow_insecure: bool = False) -> None:
        signer, relays, secret = _bunker(uri)
        self._prepare(key, signer, relays, allow_insecure)
        self._secret = secret

    @classmethod
    def invite(
        cls,
        key: NostrKey,
        relays: Iterable[str],
        *,
        name: Optional[str] = None,
        permissions: Iterable[str] = (),
        allow_insecure: bool = False,
    ) -> RemoteSigner:
        """A client that a signer comes to. Show `uri` to the person, who gives it to the signer.
        When it has come, `receive` returns an answer to the request `connect`."""
        made = cls.__new__(cls)
        made._prepare(key, None, list(relays), allow_insecure)
        wishes = ",".join(permissions)
        made.uri, made._secret = key._invitation(made.relays, wishes, name)
        return made

    def _prepare(
        self, key: NostrKey, signer: Optional[str], relays: list[str], allow_insecure: bool
    ) -> None:
        self.signer = signer
        self.uri = None
        accepted = [url for url in relays if _is_private(url) or allow_insecure][:_MAX_RELAYS]
        if not accepted:
            raise of("argument", "the relays of the signer are ws://, and allow_insecure is not set")
        self._key = key
        self._own = key.public_key
        # Public key of the person, once the signer has answered `get_public_key`.
        self._user: Optional[str] = None
        self._relays = {url: _Relay(url) for url in accepted}
        self._waiting: dict[str, _Waiting] = {}

    @property
    def relays(self) -> list[str]:
        """URLs of the relays to connect to, each `wss://`, of this machine, or a Tor service."""
        return list(self._relays)

    def connect(self, *, name: Optional[str] = None, permissions: Iterable[str] = ()) -> Request:
        """The first request. `name` is of this app, `permissions` are wishes: `sign_event:1`."""
        params = [self._known(), self._secret or "", ",".join(permissions)]
        if name is not None:
            params.append(json.dumps({"name": name}, ensure_ascii=False))
        return self.request("connect", *params)

    def get_public_key(self) -> Request:
        return self.request("get_public_key")

    def sign(self, event: Mapping[str, object]) -> Request:
        """Has an event signed. `event` of the answer is verified to be this one."""
        template = {"created_at": int(time.time()), "tags": [], "content": "", **event}
        text = json.dumps(template, ensure_ascii=False)
        return self._ask("sign_event", (text,), json.loads(text))

    def encrypt(self, peer: str, text: str) -> Request:
        """Has a text encrypted (NIP-44)."""
        return self.request("nip44_encrypt", public_key(peer), text)

    def decrypt(self, peer: str, payload: str) -> Request:
        return self.request("nip44_decrypt", public_key(peer), payload)

    def request(self, method: str, *params: str) -> Request:
        """Any request: `ping`, `logout`."""
        return self._ask(method, params, None)

    def again(self, request: Request) -> None:
        """Sends a request again, for example `connect` while the signer may be offline."""
        self._publish(self._waiting[request.id], list(self._relays.values()))

    def give_up(self, request: Request) -> None:
        """Forgets a request. A later answer to it is ignored."""
        self._waiting.pop(request.id, None)

    def connected(self, relay: str) -> None:
        state = self._relays[relay]
        state.is_open = True
        state.logins = 0
        state.login = None
        state.outgoing = []
        self._begin(state)

    def disconnected(self, relay: str) -> None:
        state = self._relays[relay]
        state.is_open = False
        state.outgoing = []

    def outgoing(self, relay: str) -> list[str]:
        """The messages to send to a relay now. They are returned once."""
        state = self._relays[relay]
        messages, state.outgoing = state.outgoing, []
        return messages

    def receive(self, relay: str, message: str | bytes) -> Optional[Answer]:
        state = self._relays[relay]
        if len(message) > _MAX_MESSAGE:
            return None
        try:
            parts = json.loads(message)
        except (ValueError, RecursionError):
            return None
        if not isinstance(parts, list) or len(parts) < 2 or not isinstance(parts[1], str):
            return None
        if parts[0] == "EVENT" and parts[1] == _SUBSCRIPTION and len(parts) > 2:
            return self._response(parts[2])
        if parts[0] == "AUTH":
            self._log_in(state, parts[1])
        elif parts[0] == "OK" and len(parts) > 2:
            if parts[1] == state.login:
                state.login = None
                if parts[2] is True:
                    self._begin(state)
            elif parts[2] is not True:
                reason = parts[3] if len(parts) > 3 and isinstance(parts[3], str) else ""
                return self._refused(state, parts[1], reason)
        return None

    def _ask(
        self, method: str, params: tuple[str, ...], template: Optional[dict[str, Any]]
    ) -> Request:
        request = Request(secrets.token_hex(16), method, params)
        waiting = _Waiting(request)
        waiting.template = template
        # Checks the length, also if no relay is open yet.
        self._event(waiting)
        self._waiting[request.id] = waiting
        self._publish(waiting, list(self._relays.values()))
        return request

    def _event(self, waiting: _Waiting) -> Any:
        request = waiting.request
        signer = self._known()
        message = {"id": request.id, "method": request.method, "params": list(request.params)}
        text = json.dumps(message, ensure_ascii=False)
        return json.loads(self._key._request(signer, text, int(time.time())))

    def _known(self) -> str:
        if self.signer is None:
            raise of("argument", "no signer has accepted the invitation")
        return self.signer

    def _publish(self, waiting: _Waiting, relays: list[_Relay]) -> None:
        """Sends a request in an event of its own: signers ignore one that they have seen."""
        open_relays = [it for it in relays if it.is_open]
        if not open_relays:
            return
        event = self._event(waiting)
        waiting.events.add(event["id"])
        for relay in open_relays:
            relay.outgoing.append(json.dumps(["EVENT", event], ensure_ascii=False))

    def _begin(self, relay: _Relay) -> None:
        """Subscribes, and sends what waits for an answer."""
        since = int(time.time()) - _MAX_SKEW
        wanted: dict[str, Any] = {"kinds": [_KIND], "#p": [self._own], "since": since}
        if self.signer is not None:
            wanted["authors"] = [self.signer]
        relay.outgoing.append(json.dumps(["REQ", _SUBSCRIPTION, wanted]))
        for waiting in self._waiting.values():
            waiting.refusals.pop(relay.url, None)
            self._publish(waiting, [relay])

    def _log_in(self, relay: _Relay, challenge: str) -> None:
        if relay.logins >= _MAX_LOGINS:
            return
        relay.logins += 1
        tags = [["relay", relay.url], ["challenge", challenge]]
        try:
            event = self._key.sign({"kind": _LOGIN, "tags": tags})
        except (EndsealError, ValueError):
            return
        relay.login = event["id"]
        relay.outgoing.append(json.dumps(["AUTH", event]))

    def _refused(self, relay: _Relay, event: str, reason: str) -> Optional[Answer]:
        """A relay has not taken an event. A log-in may follow."""
        if reason.startswith("auth-required:"):
            return None
        for waiting in self._waiting.values():
            if event not in waiting.events:
                continue
            waiting.refusals[relay.url] = reason
            if len(waiting.refusals) < len(self._relays):
                return None
            error = of("relay", f"the relays refuse the request: {_shown(reason)}")
            return self._end(waiting, error=error)
        return None

    def _response(self, event: Any) -> Optional[Answer]:
        if not isinstance(event, dict):
            return None
        if self.signer is None:
            return self._accept(event)
        if not self._waiting or event.get("pubkey") != self.signer:
            return None
        try:
            text = json.dumps(event, ensure_ascii=False)
            id_, kind, text = self._key._response(self.signer, text)
        except (EndsealError, ValueError, RecursionError):
            return None
        waiting = self._waiting.get(id_)
        if waiting is None:
            return None
        if kind == "auth-url":
            if waiting.has_page or not _is_page(text):
                return None
            waiting.has_page = True
            return Answer(waiting.request, auth_url=text)
        if kind == "error":
            # Some signers answer so to a client that they know.
            if waiting.request.method == "connect" and "already connected" in text.lower():
                return self._end(waiting, text="ack")
            return self._end(waiting, error=of("refused", _shown(text)))
        if waiting.template is None:
            return self._result(waiting, text)
        signed = _signed(text, waiting.template, self._user)
        if signed is None:
            return self._end(waiting, error=of("event", "the signer has signed another event"))
        return self._end(waiting, text=text, event=signed)

    def _result(self, waiting: _Waiting, text: str) -> Answer:
        if waiting.request.method == "get_public_key":
            try:
                self._user = text = public_key(text)
            except (EndsealError, ValueError):
                error = of("event", "the signer has answered with no public key")
                return self._end(waiting, error=error)
        return self._end(waiting, text=text)

    def _accept(self, event: Any) -> Optional[Answer]:
        """The signer is who knows the secret of the invitation."""
        try:
            text = json.dumps(event, ensure_ascii=False)
            self.signer = self._key._accepted(text, self._secret or "")
        except (EndsealError, ValueError, RecursionError):
            return None
        return Answer(Request("", "connect", ()), text="ack")

    def _end(self, waiting: _Waiting, **result: Any) -> Answer:
        del self._waiting[waiting.request.id]
        return Answer(waiting.request, **result)


def _signed(text: str, template: Mapping[str, Any], user: Optional[str]) -> Optional[Event]:
    """The event of a signer, if it is authentic, of the user if that one is known, and has all that
    the template has."""
    try:
        event = json.loads(text)
        verify_event(text)
    except (EndsealError, ValueError, RecursionError):
        return None
    names = [name for name in template if name not in ("id", "sig")]
    if user is not None and event["pubkey"] != user:
        return None
    if any(event.get(name) != template[name] for name in names):
        return None
    return cast(Event, event)


def _is_private(url: str) -> bool:
    """True for relays whose traffic others cannot read: who communicates, and when."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise of("argument", "a relay is no URL") from None
    # A URL is read without line feeds, and sent with them. WebSockets have no fragments.
    if not all("!" <= it <= "~" and it != "#" for it in url):
        raise of("argument", "a relay is no URL")
    host = parts.hostname or ""
    return parts.scheme == "wss" or _is_loopback(host) or host.endswith(".onion")


def _is_loopback(host: str) -> bool:
    numbers = host.split(".")
    is_number = len(numbers) == 4 and numbers[0] == "127" and all(it.isdigit() for it in numbers)
    return is_number or host in ("localhost", "::1")


def _is_page(text: str) -> bool:
    """True for a page that others cannot change on its way, and that hides no host behind a user."""
    if len(text) > _MAX_PAGE or not all("!" <= it <= "~" and it != "\\" for it in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    host = parts.hostname or ""
    is_safe = parts.scheme == "https" or parts.scheme == "http" and _is_loopback(host)
    return is_safe and host != "" and "@" not in parts.netloc


def _shown(text: str) -> str:
    """A text of others, without characters that move the cursor or change direction."""
    return "".join(it if it.isprintable() else "\ufffd" for it in text[:_MAX_TEXT])
