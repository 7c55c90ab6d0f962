"""Where programs are."""

import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.environ.get("ENDSEAL_NOSTR_CACHE", os.path.expanduser("~/.cache/endseal-nostr"))
GO = os.path.join(ROOT, "peers/go/target/endseal-peers-go")
RUST = os.path.join(ROOT, "peers/rust-nostr/target/release/endseal-peers-nostr")
NODE = os.path.join(HERE, "clients/node")
PYTHON = os.path.join(HERE, "clients/python")
# Debian's package, which install.sh installs.
CHROMIUM = shutil.which("chromium") or "chromium"
# Versions of nostr-sdk; each has an environment in the cache.
with open(os.path.join(PYTHON, "versions.txt")) as lines:
    SDKS = lines.read().split()
TABLE = os.path.join(ROOT, "docs/design/nostr-interop.md")


def built():
    """The newer of the two builds of endseal, or None."""
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    found = [os.path.join(target, it, "endseal") for it in ("release", "debug")]
    found = [it for it in found if os.access(it, os.X_OK)]
    return max(found, key=os.path.getmtime, default=None)
