"""nostr-sdk of PyPI behind lines of JSON, by the Python of a version: README.md, two folders up, has the orders."""

import asyncio
import datetime
import inspect
import json
import re
import sys
import time

from nostr_sdk import Keys, NostrConnect, NostrConnectUri, PublicKey, UnsignedEvent, uniffi_set_event_loop

# Timeout of the library; each order has a shorter one.
TIMEOUT = datetime.timedelta(seconds=60)

# Errors of the library itself. The others are the signer's text, which 0.38 puts behind two words.
OWN = re.compile(r"(?!response)\w+ error|time(out|d out)|invalid|can't|unexpected|.* not (ready|found|connected)", re.I)


class Failure(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Session:
    """A signer of the library, which connects with its first request."""

    def __init__(self, uri, key):
        self.signer = NostrConnect(NostrConnectUri.parse(uri), Keys.parse(key), TIMEOUT, None)

    async def call(self, method, *given):
        # Methods that wait have names of their own since 0.45.
        found = getattr(self.signer, f"{method}_async", None) or getattr(self.signer, method)
        result = found(*given)
        return await result if inspect.isawaitable(result) else result

    async def public_key(self):
        return (await self.call("get_public_key")).to_hex()

    async def sign(self, event):
        draft = UnsignedEvent.from_json(json.dumps({**event, "pubkey": await self.public_key()}))
        return json.loads((await self.call("sign_event", draft)).as_json())


class Client:
    session = None
    listening = None

    async def connect(self, uri, key):
        self.session = Session(uri, key)
        await self.session.public_key()

    async def resume(self, uri, key):
        # By the URL that the library returns for this purpose, which has no secret.
        self.session = Session(uri.split("&secret=")[0], key)

    async def uri(self, relays, key, name):
        query = "".join(f"relay={relay}&" for relay in relays)
        public = Keys.parse(key).public_key().to_hex()
        uri = f"nostrconnect://{public}?{query}metadata={json.dumps({'name': name})}&secret={key[:8]}"
        # Before 0.45 the library leaves the secret out.
        uri = str(NostrConnectUri.parse(uri))
        self.session = Session(uri, key)
        # The library only listens after its first request.
        self.listening = asyncio.ensure_future(self.session.public_key())
        return uri.replace(" ", "%20").replace('"', "%22")

    async def wait(self):
        await self.listening
        return str(await self.session.call("bunker_uri"))

    async def get_public_key(self):
        return await self.session.public_key()

    async def sign_event(self, event):
        return await self.session.sign(event)

    async def sign_many(self, event, count):
        return await asyncio.gather(*(self.session.sign(event) for _ in range(count)))

    async def encrypt(self, scheme, peer, text):
        return await self.session.call(f"{scheme}_encrypt", PublicKey.parse(peer), text)

    async def decrypt(self, scheme, peer, text):
        return await self.session.call(f"{scheme}_decrypt", PublicKey.parse(peer), text)


async def answered(client, order):
    do, seconds = order.pop("do"), order.pop("seconds")
    work = getattr(client, do, None)
    if work is None:
        raise Failure("unsupported", f"no {do}")
    try:
        return await asyncio.wait_for(work(**order), seconds)
    except asyncio.TimeoutError:
        raise Failure("timeout", f"nothing in {seconds} s") from None


async def serve():
    uniffi_set_event_loop(asyncio.get_running_loop())
    client = Client()
    while line := await asyncio.to_thread(sys.stdin.readline):
        begin = time.monotonic()
        try:
            result = await answered(client, json.loads(line))
            answer = {"ok": True, "result": result, "ms": round((time.monotonic() - begin) * 1000)}
        except Exception as error:
            text = str(error).strip("'") or type(error).__name__
            kind = getattr(error, "kind", "failed" if OWN.match(text) else "refused")
            answer = {"ok": False, "error": kind, "message": text}
        print(json.dumps(answer), flush=True)


asyncio.run(serve())
