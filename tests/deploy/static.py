"""Checks of the files that start nothing."""

import shutil

from checks import Skipped
from tools import ROOT, run, schema_checker

UNITS = ["hub/endseal-hub", "s3/endseal-s3", "signer/endseal-signer"]
COMPOSE = ["hub/compose.yml", "s3/compose.yml"]


def units(folder):
    """systemd's own reader finds no fault. The program need not be installed for that."""
    if not shutil.which("systemd-analyze"):
        raise Skipped("no systemd-analyze")
    place = folder / "units"
    place.mkdir()
    for unit in UNITS:
        text = (ROOT / f"deploy/{unit}.service").read_text()
        assert text.count("ExecStart=/usr/local/bin/endseal ") == 1
        file = place / f"{unit.split('/')[1]}.service"
        file.write_text(text.replace("ExecStart=/usr/local/bin/endseal ", f"ExecStart={shutil.which('true')} "))
        # Units of the machine have faults of their own, on standard error.
        run(["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", file])


def compose(_folder):
    """The schema of compose accepts the files."""
    schema = ["--builtin-schema", "vendor.compose-spec"]
    run([schema_checker(), *schema, *[ROOT / "deploy" / file for file in COMPOSE]])
