"""What a client or a signer of others does not do.

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


def limit(cell, check, stand_in):
    """The reason why a test must fail, or None."""
    name = f"{cell.client}/{cell.flow}/{check}"
    for table in [CLIENTS] + [STAND_IN] * stand_in:
        for pattern, reason in table.items():
            if fnmatch.fnmatch(name, pattern):
                return reason
    return None
