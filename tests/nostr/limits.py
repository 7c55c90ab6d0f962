"""Calls that clients and signers of other projects do not support.

Such a test runs all the same and must fail: one that passes is an error.
"""

import fnmatch

CLIENTS = {
    "go-nostr/*/60 KB": "go-nostr reads no answer beyond the short lengths of NIP-44",
    "applesauce/*/60 KB": "applesauce reads no answer beyond the short lengths of NIP-44",
}

STAND_IN = {}

# Clients that do not subscribe again at a relay that was away. The test starts them again.
DEAF = {"ndk": "NDK connects again and does not renew its subscription: the client is started again"}


# Relays that send no OK for events of ephemeral kinds: https://github.com/scsibug/nostr-rs-relay/issues/220
SILENT = {"nostr-rs-relay"}

# Clients that read no answer before the relay's OK to the request, and the seconds after which they do.
WAITING = {"applesauce": 10, "nostr-connect": 10}

# Checks of such a client at such a relay: the others would show no more.
LATE_CHECKS = {"sign", "32 at once", "other kind", "signer restarts"}


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
    name = f"{cell.client}/{cell.flow}/{check}"
    for table in [CLIENTS] + [STAND_IN] * stand_in:
        for pattern, reason in table.items():
            if fnmatch.fnmatch(name, pattern):
                return reason
    return None
