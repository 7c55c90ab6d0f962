"""Tests the program of the RP2040 in the simulator: `test.py IMAGE BOOTROM FOLDER`."""

import base64
import json
import subprocess
import sys
import time
from pathlib import Path

from host import Host
from simulated import HERE, LONG, SHORT, Device

IMAGE, BOOTROM, FOLDER = sys.argv[1:4]
PORT = Path(FOLDER) / "port"
EVENT = {"created_at": 1700000000, "kind": 1, "tags": [["t", "chip"]], "content": 'at "noon"'}
PEER = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
traffic = bytearray()


class Plugged:
    """A device in its port, with a host that is connected."""

    def __init__(self, store, *options, person=SHORT):
        self.device = Device(IMAGE, BOOTROM, Path(FOLDER) / store, PORT, *options, person=person)
        self.host = Host(PORT)
        self.call = self.host.call

    def unplug(self):
        self.host.close()
        traffic.extend(self.device.traffic)
        return self.device.unplug()


def expect(found, expected):
    assert found == expected, f"{found} instead of {expected}"


def sign(device, key):
    signed, error = device.call("sign_event", json.dumps(EVENT))
    assert error is None, error
    assert {name: json.loads(signed)[name] for name in EVENT} == EVENT
    verify = ["node", HERE / "verify.mjs", key]
    subprocess.run(verify, input=signed.encode(), check=True)


def secrets(store):
    """The secret keys in the records of the store."""
    sectors = store[:4096], store[4096:]
    return {it[32:64] for it in sectors if it.startswith(b"ESDEVICE") and it[17] == 1}


def key_lives_in_the_device():
    device = Plugged("store")
    expect(device.call("get_public_key"), (None, "the device has no key"))
    key, error = device.call("create_key")
    assert error is None, error
    sign(device, key)
    encrypted, _ = device.call("nip44_encrypt", PEER, "on the bridge")
    expect(device.call("nip44_decrypt", PEER, encrypted), ("on the bridge", None))
    expect(device.call("create_key"), (None, "the device has a key already"))
    device.device.person = LONG
    expect(device.call("sign_event", json.dumps(EVENT)), (None, "not allowed"))
    expect(device.call("set_confirmation", "signatures"), (None, "not allowed"))
    device.device.person = None
    device.host.try_call(1, "sign_event", json.dumps(EVENT))
    expect(device.call("ping"), ("pong", None))
    asked = device.device.asked
    assert asked >= 6, asked
    device.unplug()

    # Other power, other laptop, same key.
    device = Plugged("store")
    expect(device.call("get_public_key"), (key, None))
    sign(device, key)
    expect(device.call("set_confirmation", "signatures"), ("ack", None))
    device.unplug()
    device = Plugged("store", person=None)
    expect(device.call("get_confirmation"), ("signatures", None))
    expect(device.call("nip44_decrypt", PEER, encrypted), ("on the bridge", None))
    device.unplug()


def power_fails_while_the_key_is_made():
    # A record has 96 bytes; the rest of its page is as erased.
    for steps, has_key in [(95, False), (255, True)]:
        store = f"cut-{steps}"
        device = Plugged(store, "--cut", str(steps))
        assert device.host.try_call(4, "create_key") is None
        expect(device.unplug(), 9)
        device = Plugged(store)
        key, error = device.call("get_public_key")
        expect(error, None if has_key else "the device has no key")
        if not has_key:
            key, error = device.call("create_key")
            assert error is None, error
        sign(device, key)
        device.unplug()


def power_fails_while_the_setting_is_written():
    store = Path(FOLDER) / "store"
    for steps in (50, 150):
        copy = Path(FOLDER) / f"setting-{steps}"
        copy.write_bytes(store.read_bytes())
        device = Plugged(copy.name)
        key = device.call("get_public_key")
        device.unplug()
        device = Plugged(copy.name, "--cut", str(steps))
        device.host.try_call(4, "set_confirmation", "all")
        expect(device.unplug(), 9)
        device = Plugged(copy.name, person=None)
        expect(device.call("get_public_key"), key)
        expect(device.call("get_confirmation"), ("signatures", None))
        device.unplug()


def a_stuck_oscillator_makes_no_key():
    device = Plugged("stuck", "--stuck")
    expect(device.call("create_key"), (None, "the random source failed"))
    expect(device.call("get_public_key"), (None, "the device has no key"))
    device.unplug()


def no_secret_was_on_the_port():
    stores = [path.read_bytes() for path in Path(FOLDER).iterdir() if path.stat().st_size == 8192]
    keys = set().union(*map(secrets, stores))
    assert len(keys) >= 3, len(keys)
    assert len(traffic) > 5_000
    text = bytes(traffic).lower()
    for key in keys:
        for form in (key, key.hex().encode(), base64.b64encode(key)[:40].lower()):
            assert form not in text and form not in traffic


started = time.monotonic()
for test in (
    key_lives_in_the_device,
    power_fails_while_the_key_is_made,
    power_fails_while_the_setting_is_written,
    a_stuck_oscillator_makes_no_key,
    no_secret_was_on_the_port,
):
    test()
    print(f"{test.__name__}: ok, {time.monotonic() - started:.0f} s")
