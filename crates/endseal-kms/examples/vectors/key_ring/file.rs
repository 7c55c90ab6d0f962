//! Vectors of rings without a passphrase.

use std::path::Path;

use super::{FIRST, found, id, line, line_of, open_ring, time, vector};

pub(super) fn write(dir: &Path) {
    successes(dir);
    wrong_lines(dir);
    wrong_keys(dir);
}

fn successes(dir: &Path) {
    let one = open_ring(&line(1));
    found(vector("file-one-key", "one key", "ok", &one), &[1]).write(dir);
    let three = open_ring(&[line(3), line(1), line(2)].concat());
    found(vector("file-three-keys", "three keys, the last one wraps", "ok", &three), &[3, 1, 2])
        .write(dir);
    let edges = open_ring(
        &[line_of("a", 0, &[4; 32]), line_of(&"z".repeat(64), 253_402_300_799, &[5; 32])].concat(),
    );
    vector(
        "file-edges",
        "the shortest and the longest id, the first and the last time",
        "ok",
        &edges,
    )
    .with("ids", &format!("a {}", "z".repeat(64)))
    .with("times", "0 253402300799")
    .with("keys", &format!("{} {}", "04".repeat(32), "05".repeat(32)))
    .write(dir);
}

fn wrong_lines(dir: &Path) {
    let good = open_ring(&line(1));
    let cases: &[(&str, &str, &str, String)] = &[
        ("file-empty", "no byte", "form", String::new()),
        ("file-version-2", "a later version", "version", good.replace(" v1\n", " v2\n")),
        ("file-version-01", "a leading zero", "form", good.replace(" v1\n", " v01\n")),
        ("file-is-an-identity", "another format", "form", good.replace("s3-key-ring", "identity")),
        ("file-no-protection", "the second line is missing", "form", format!("{FIRST}{}", line(1))),
        ("file-unknown-protection", "another word", "form", good.replace(" none\n", " None\n")),
        ("file-no-line-feed", "the last line feed is missing", "form", good.trim_end().into()),
        (
            "file-carriage-returns",
            "line ends of another system",
            "form",
            good.replace('\n', "\r\n"),
        ),
        ("file-trailing-line", "an empty line at the end", "form", format!("{good}\n")),
        ("file-comment", "a comment", "form", open_ring(&format!("# first\n{}", line(1)))),
        (
            "file-two-spaces",
            "two spaces after a field",
            "form",
            good.replace("key ring-", "key  ring-"),
        ),
        ("file-fifth-part", "a fifth part", "form", format!("{} x\n", good.trim_end())),
        ("file-not-ascii", "a letter beyond ASCII", "form", good.replace("ring-", "r\u{ef}ng-")),
        ("file-no-key", "no key", "limit", open_ring("")),
    ];
    for (scenario, comment, expect, file) in cases {
        vector(scenario, comment, expect, file).write(dir);
    }
}

fn wrong_keys(dir: &Path) {
    let good = line(1);
    let base64 = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    assert!(good.contains(base64));
    let check = good.trim_end().rsplit(' ').next().unwrap();
    let cases: &[(&str, &str, &str, String)] = &[
        ("key-changed", "a letter of the key", "check", good.replace("AQEBAQ", "AQEBBQ")),
        ("key-time-changed", "the next second", "check", good.replace("1789000001", "1789000002")),
        ("key-id-changed", "another id", "check", good.replace(&id(1), &id(2))),
        ("key-check-changed", "the last digit of the check", "check", {
            let last = if check.ends_with('0') { '1' } else { '0' };
            format!("{}{last}\n", &good[..good.len() - 2])
        }),
        (
            "key-check-upper-case",
            "digits in upper case",
            "form",
            good.replace(check, "ABCDEFABCDEFABCD"),
        ),
        ("key-check-short", "15 digits", "form", format!("{}\n", &good[..good.len() - 2])),
        (
            "key-31-bytes",
            "a shorter key",
            "form",
            good.replace(base64, &format!("{}==", &base64[..42])),
        ),
        (
            "key-33-bytes",
            "a longer key",
            "form",
            good.replace(base64, &format!("{}A", base64.trim_end_matches('='))),
        ),
        (
            "key-base64-bits",
            "a bit set beyond the last byte",
            "form",
            good.replace("AQE= ", "AQF= "),
        ),
        ("key-base64-no-padding", "base64 without padding", "form", good.replace("AQE= ", "AQE ")),
        ("key-time-leading-zero", "a leading zero", "form", good.replace(" 1789", " 01789")),
        ("key-time-too-late", "the year 10000", "form", good.replace("1789000001", "253402300800")),
        ("key-id-upper-case", "a letter that ids have not", "form", good.replace("ring-", "Ring-")),
        ("key-id-empty", "no id", "form", good.replace(&id(1), "")),
        ("key-id-65", "65 characters", "form", good.replace(&id(1), &"x".repeat(65))),
        ("key-twice", "the same key twice", "duplicate", [&good[..], &good].concat()),
        (
            "key-same-id",
            "two keys of one id",
            "duplicate",
            [line(1), line(2), line_of(&id(1), time(3), &[3; 32])].concat(),
        ),
    ];
    for (scenario, comment, expect, lines) in cases {
        vector(scenario, comment, expect, &open_ring(lines)).write(dir);
    }
}
