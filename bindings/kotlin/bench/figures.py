"""Writes the figures of a run: `figures.py TIMES FOLDER`."""

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

NAMES = {
    "2000": "2000 messages from 1 conversation",
    "1000": "1000 messages across 5 conversations",
    "5000": "5000 messages across 6 conversations",
}
# Milliseconds of the published baseline, a whole client: before and after it had transactions.
PUBLISHED = {"2000": (10218, 6046), "1000": (5025, 2920), "5000": (24768, 13717)}
OURS, THEIRS, RUST = "endseal", "core-crypto-jvm", "endseal in Rust"


def main(times: Path, folder: Path) -> None:
    samples = defaultdict(list)
    for line in times.read_text().splitlines():
        messages, conversations, subject, transactions, nanoseconds = line.split("\t")
        samples[messages, conversations, subject, transactions].append(int(nanoseconds) / 1e6)
    write_table(samples, folder / "kotlin.tsv")
    ms = {(key[0], *key[2:]): median(values) for key, values in samples.items()}
    write_baseline(ms, folder / "kotlin.csv")
    (folder / "kotlin.svg").write_text(picture(ms))
    for messages, name in NAMES.items():
        one, each = ms[messages, OURS, "all"], ms[messages, OURS, "each"]
        theirs = ms[messages, THEIRS, "each"]
        print(f"{name}: all {theirs / one:.0f}x, each {theirs / each:.2f}x CoreCrypto's each;"
              f" all {one / ms[messages, RUST, 'all']:.2f}x Rust's time")


def write_table(samples: dict, file: Path) -> None:
    with file.open("w") as out:
        head = ["messages", "conversations", "subject", "transactions", "median_ms", "least_ms", "rounds"]
        print(*head, sep="\t", file=out)
        for key, values in sorted(samples.items()):
            times = f"{median(values):.2f}", f"{min(values):.2f}"
            print(*key, *times, len(values), sep="\t", file=out)


def write_baseline(ms: dict, file: Path) -> None:
    """The table of the baseline: time before and after, and what was gained."""
    with file.open("w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["Library", "Scenario", "Before (ms)", "After (ms)", "Improvement (%)"])
        for messages, name in NAMES.items():
            before, after = PUBLISHED[messages]
            rows.writerow(["published", name, before, after, f"{100 - 100 * after / before:.2f}"])
        for messages, name in NAMES.items():
            before, after = ms[messages, OURS, "each"], ms[messages, OURS, "all"]
            gained = f"{100 - 100 * after / before:.2f}"
            rows.writerow([OURS, name, f"{before:.1f}", f"{after:.1f}", gained])
        for messages, name in NAMES.items():
            rows.writerow([THEIRS, name, f"{ms[messages, THEIRS, 'each']:.1f}", "", ""])


def picture(ms: dict) -> str:
    """Bars of the times, each scenario at a scale of its own, and the improvements as points."""
    bars = [("CoreCrypto, each", THEIRS, "each", "#999"), ("endseal, each", OURS, "each", "#58a"),
            ("endseal, all", OURS, "all", "#264")]
    parts, y = [], 30
    for messages, name in NAMES.items():
        longest = max(ms[messages, subject, mode] for _, subject, mode, _ in bars)
        parts.append(text(10, y, name, bold=True))
        for label, subject, mode, colour in bars:
            y += 22
            value = ms[messages, subject, mode]
            width = max(1, 420 * value / longest)
            parts.append(text(10, y, label))
            size = f'width="{width:.1f}" height="15"'
            parts.append(f'<rect x="150" y="{y - 12}" {size} fill="{colour}"/>')
            parts.append(text(156 + width, y, f"{value:.1f} ms"))
        y += 34
    parts.append(text(10, y, "Improvement by one transaction for all, in percent", bold=True))
    for messages, name in NAMES.items():
        y += 22
        before, after = PUBLISHED[messages]
        ours = 100 - 100 * ms[messages, OURS, "all"] / ms[messages, OURS, "each"]
        parts.append(text(10, y, messages + " messages"))
        parts.append(f'<line x1="150" y1="{y - 5}" x2="570" y2="{y - 5}" stroke="#ccc"/>')
        for value, colour in ((100 - 100 * after / before, "#999"), (ours, "#264")):
            x = 150 + 4.2 * value
            parts.append(f'<circle cx="{x:.1f}" cy="{y - 5}" r="5" fill="{colour}"/>')
            parts.append(text(x + 8, y - 8, f"{value:.1f}"))
    y += 24
    parts.append(text(10, y, "Grey: the published baseline, a whole client. Green: endseal."))
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {y + 14}"'
            ' font-family="sans-serif" font-size="12">')
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def text(x: float, y: float, words: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{weight}>{words}</text>'


main(Path(sys.argv[1]), Path(sys.argv[2]))
