//! Vectors of rings under a passphrase.

use std::path::Path;

use super::{PASSPHRASE, found, line, sealed_ring, vector};

const MINIMUM: (u32, u32, u32) = (8192, 1, 1);

pub(super) fn write(dir: &Path) {
    let lines = [line(1), line(2)].concat();
    let good = sealed_ring(MINIMUM, PASSPHRASE, &lines);
    let cases = [
        ("sealed-minimum", "8 MiB, 1 pass, 1 lane", MINIMUM),
        ("sealed-four-lanes", "9,001 KiB, 2 passes, 4 lanes", (9001, 2, 4)),
    ];
    for (scenario, comment, params) in cases {
        let file = sealed_ring(params, PASSPHRASE, &lines);
        found(vector(scenario, comment, "ok", &file).with("passphrase", PASSPHRASE), &[1, 2])
            .write(dir);
    }
    contents(dir, &good);
    form(dir, &good);
}

fn contents(dir: &Path, good: &str) {
    let sealed = good.find("sealed ").unwrap() + 7;
    let flipped = |at: usize| {
        let mut file = good.to_owned();
        file.replace_range(at..=at, if &file[at..=at] == "A" { "B" } else { "A" });
        file
    };
    let inside = |lines: &str| sealed_ring(MINIMUM, PASSPHRASE, lines);
    let cases: &[(&str, &str, &str, String)] = &[
        (
            "sealed-wrong-passphrase",
            "under another passphrase",
            "authentication",
            sealed_ring(MINIMUM, "another one", &line(1)),
        ),
        ("sealed-chunk-salt-changed", "a character of the salt", "authentication", flipped(sealed)),
        (
            "sealed-commitment-changed",
            "a character of the commitment",
            "authentication",
            flipped(sealed + 40),
        ),
        ("sealed-keys-changed", "a character of the keys", "authentication", flipped(sealed + 100)),
        (
            "sealed-salt-changed",
            "a character of the salt of Argon2id",
            "authentication",
            good.replace(" 1 1 oaGh", " 1 1 paGh"),
        ),
        (
            "sealed-passes-changed",
            "2 passes instead of 1",
            "authentication",
            good.replace(" 8192 1 1 ", " 8192 2 1 "),
        ),
        (
            "sealed-too-short",
            "not even a salt",
            "authentication",
            format!("{}AAAA\n", &good[..sealed]),
        ),
        ("sealed-no-key", "sealed, and no key in it", "limit", inside("")),
        ("sealed-check", "a damaged key", "check", inside(&line(1).replace("AQEBAQ", "AQEBBQ"))),
        ("sealed-whole-file", "a whole file in it", "form", inside(&super::open_ring(&line(1)))),
        ("sealed-twice", "two keys of one id", "duplicate", inside(&line(1).repeat(2))),
    ];
    for (scenario, comment, expect, file) in cases {
        vector(scenario, comment, expect, file).with("passphrase", PASSPHRASE).write(dir);
    }
}

fn form(dir: &Path, good: &str) {
    let params = |params: &str| good.replace(" 8192 1 1 ", &format!(" {params} "));
    let cases: &[(&str, &str, &str, String)] = &[
        ("sealed-memory-8191", "less memory than the minimum", "limit", params("8191 1 1")),
        ("sealed-memory-2-32", "2^32 KiB", "limit", params("4294967296 1 1")),
        ("sealed-work", "1 GiB and 5 passes", "limit", params("1048576 5 1")),
        ("sealed-lanes-5", "5 lanes", "limit", params("8192 1 5")),
        ("sealed-leading-zero", "a number with a leading zero", "form", params("08192 1 1")),
        ("sealed-argon2i", "another function", "form", good.replace("argon2id", "argon2i")),
        ("sealed-and-open", "a key line beside", "form", format!("{good}{}", line(1))),
        (
            "sealed-missing",
            "the last line is missing",
            "form",
            good[..good.find("sealed").unwrap()].into(),
        ),
        (
            "sealed-not-base64",
            "a character that base64 has not",
            "form",
            good.replace("sealed ", "sealed -"),
        ),
    ];
    for (scenario, comment, expect, file) in cases {
        vector(scenario, comment, expect, file).with("passphrase", PASSPHRASE).write(dir);
    }
}
