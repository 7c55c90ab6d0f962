"""Calls that clients and signers of other projects do not support.

Such a test runs all the same and must fail: one that passes is an error.
"""

import fnmatch

_SHORT = "the library reads no answer beyond the short lengths of NIP-44"
_MISTAKEN = "the library asks for `nip44_encrypt` in place of `nip44_decrypt`"
CLIENTS = {
    "go-nostr/*/60 KB": _SHORT,
    "applesauce/*/60 KB": _SHORT,
    "nostr-tools-2.10/*/60 KB": _SHORT,
    "nostr-tools-2.17/*/60 KB": _SHORT,
    "nostr-login/*/60 KB": _SHORT,
    "nostr-sdk-0.38.0/*/60 KB": _SHORT,
    "nostr-sdk-0.42.1/*/60 KB": _SHORT,
    "nostr-tools-2.[57]/*/NIP-44": _MISTAKEN,
    "nostr-tools-2.[57]/*/other method": _MISTAKEN,
}

STAND_IN = {}

# Clients that do not subscribe again at a relay that was away. The test starts them again.
_DEAF = "the library does not subscribe again: the client is started again"
DEAF = {
    "ndk": _DEAF,
    "ndk-2.10": _DEAF,
    "ndk-2.14": _DEAF,
    "ndk-2.18": _DEAF,
    "nostr-login": _DEAF,
    "nostr-tools-2.5": _DEAF,
    "nostr-tools-2.7": _DEAF,
    "nostr-tools-2.10": _DEAF,
    "nostr-tools-2.17": _DEAF,
    "window-nostr": _DEAF,
}

# Relays that send no OK for events of ephemeral kinds: https://github.com/scsibug/nostr-rs-relay/issues/220
SILENT = {"nostr-rs-relay"}

# Clients that read no answer before the relay's OK to the request, and the seconds after which they do.
WAITING = {"applesauce": 10, "nostr-connect": 10}

# Clients that were tried at such a relay.
_PATIENT = {"applesauce", "go-nostr", "ndk", "nostr-connect", "nostr-tools", "welshman"}

# Checks of such a client at such a relay: the others would show no more.
LATE_CHECKS = {"sign", "32 at once", "other kind", "signer restarts"}

# Checks at relays that differ from khatru in one thing, with the first flow of each client.
RELAY_CHECKS = {
    "khatru-auth": {"sign", "32 at once", "signer restarts"},
    "khatru-rate": {"sign", "12 at once"},
    "khatru-small": {"sign", "large answer"},
}
SPECIAL = {"12 at once", "large answer"}

# Cells in which no client connects, by patterns of relay/client/flow. One check shows it.
_SECRET = "the library's nostrconnect:// URLs have no secret, without which the signer refuses them"
_LOG_IN = "the library does not log in to relays (NIP-42) by itself"
NEVER = {
    "khatru-auth/applesauce/*": _LOG_IN,
    "khatru-auth/nostr-login/*": _LOG_IN,
    "khatru-auth/nostr-tools-2.*/*": _LOG_IN,
    "khatru-auth/welshman/*": _LOG_IN,
    "khatru-auth/window-nostr/*": _LOG_IN,
    "*/nostr-sdk-0.38.0/nostrconnect": _SECRET,
    "*/nostr-sdk-0.42.1/nostrconnect": _SECRET,
    "*/nostr-sdk-0.44.2/nostrconnect": _SECRET,
}


def tried(cell, check, chosen):
    """Tells whether a test belongs to a cell. `chosen` are the checks of its client, or None for all."""
    if _found(NEVER, cell):
        return check == "sign"
    if cell.relay in RELAY_CHECKS:
        return check in RELAY_CHECKS[cell.relay]
    if check in SPECIAL:
        return False
    if cell.relay in SILENT and cell.client not in _PATIENT:
        return False
    if lateness(cell) and check not in LATE_CHECKS:
        return False
    return chosen is None or check is None or check in chosen


def lateness(cell):
    """Seconds by which every answer is late, whatever signer gives it."""
    return WAITING.get(cell.client, 0) if cell.relay in SILENT else 0


def late_reason(cell):
    return (
        f"late: {cell.client} waits {WAITING[cell.client]} s for the OK of {cell.relay} to each request, "
        "which never comes for ephemeral events; it is so with signers of others too"
    )


def limit(cell, check, stand_in):
    """The reason why a test must fail, or None."""
    if reason := _found(NEVER, cell):
        return reason
    name = [cell.client, cell.flow, check]
    return _found(CLIENTS, name) or (_found(STAND_IN, name) if stand_in else None)


def _found(table, name):
    name = "/".join(map(str, name))
    return next((it for pattern, it in table.items() if fnmatch.fnmatch(name, pattern)), None)
