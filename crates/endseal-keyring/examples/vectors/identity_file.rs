//! Vectors of identity files.

use std::path::Path;

use endseal_keyring::{KdfParams, Passphrase, hazmat};
use endseal_testing::Vector;

use crate::{kem_key_of_another, long, owner, short};

const PASSPHRASE: &str = "correct horse battery staple";
/// The passphrase that the specification defines for files without one, written out again.
const NO_PASSPHRASE: &str = "endseal without passphrase";

pub(crate) fn write(dir: &Path) {
    successes(dir);
    let good = seal(KdfParams::MINIMUM, PASSPHRASE, 1);
    with_passphrase_only(dir);
    wrong_contents(dir, &good);
    wrong_parameters(dir, &good);
    wrong_form(dir, &good);
}

fn vector(scenario: &'static str, comment: &str, expect: &str, file: &str) -> Vector {
    Vector::new(scenario, comment, expect)
        .with("kind", "identity-file")
        .with("passphrase", PASSPHRASE)
        .with("input", file)
}

/// Seals the file of `owner(1)`, which claims to be that of `owner(claimed)`.
fn seal(params: KdfParams, passphrase: &str, claimed: u8) -> String {
    seal_under(params, &Passphrase::new(passphrase).unwrap(), claimed)
}

fn seal_under(params: KdfParams, passphrase: &Passphrase, claimed: u8) -> String {
    let file = hazmat::seal_identity_file(
        &owner(1),
        owner(claimed).public(),
        passphrase,
        params,
        &[0xa1; 16],
        &[0xb2; 24],
    );
    String::from_utf8(file.unwrap().as_bytes().to_vec()).unwrap()
}

fn successes(dir: &Path) {
    let cases = [
        ("file-minimum", "8 MiB, 1 pass, 1 lane", KdfParams::MINIMUM),
        ("file-recommended", "64 MiB, 3 passes, 1 lane", KdfParams::RECOMMENDED),
        ("file-four-lanes", "9,001 KiB, 2 passes, 4 lanes", KdfParams::new(9001, 2, 4).unwrap()),
    ];
    for (scenario, comment, params) in cases {
        vector(scenario, comment, "ok", &seal(params, PASSPHRASE, 1))
            .with_hex("ed25519_seed", &[1; 32])
            .with_hex("mlkem768_seed", &[0xfe; 64])
            .write(dir);
    }
    let umlaut = "gr\u{fc}\u{df}e \u{1f43b}";
    Vector::new("file-unicode-passphrase", "a passphrase beyond ASCII, in UTF-8", "ok")
        .with("kind", "identity-file")
        .with("passphrase", umlaut)
        .with("input", &seal(KdfParams::MINIMUM, umlaut, 1))
        .with_hex("ed25519_seed", &[1; 32])
        .with_hex("mlkem768_seed", &[0xfe; 64])
        .write(dir);
    other_forms(dir);
    without_passphrase("file-without-passphrase", "under the public passphrase", "ok", &{
        seal(KdfParams::MINIMUM, NO_PASSPHRASE, 1)
    })
    .with_hex("ed25519_seed", &[1; 32])
    .with_hex("mlkem768_seed", &[0xfe; 64])
    .write(dir);
}

/// Passphrases that are not entered in the form in which the file was sealed.
fn other_forms(dir: &Path) {
    let (composed, decomposed) = ("caf\u{e9}-gro\u{df} 1", "cafe\u{301}-gro\u{df} 1");
    let entered = hazmat::passphrase_as_entered(decomposed).unwrap();
    let unnormalised = seal_under(KdfParams::MINIMUM, &entered, 1);
    let cases = [
        (
            "file-passphrase-decomposed",
            "the passphrase is entered in NFD, the file was sealed under NFKC",
            decomposed,
            seal(KdfParams::MINIMUM, composed, 1),
        ),
        (
            "file-passphrase-wide",
            "the passphrase is entered in full-width letters and a ligature",
            "\u{ff43}af\u{e9} \u{fb01}x",
            seal(KdfParams::MINIMUM, "caf\u{e9} fix", 1),
        ),
        (
            "file-passphrase-unnormalised",
            "the file was sealed under NFD, in which the passphrase is entered",
            decomposed,
            unnormalised.clone(),
        ),
    ];
    for (scenario, comment, passphrase, file) in cases {
        Vector::new(scenario, comment, "ok")
            .with("kind", "identity-file")
            .with("passphrase", passphrase)
            .with("input", &file)
            .with_hex("ed25519_seed", &[1; 32])
            .with_hex("mlkem768_seed", &[0xfe; 64])
            .write(dir);
    }
    let comment = "the file was sealed under NFD, and the passphrase is entered in NFC";
    Vector::new("file-passphrase-other-form", comment, "authentication")
        .with("kind", "identity-file")
        .with("passphrase", composed)
        .with("input", &unnormalised)
        .write(dir);
}

/// Writes a vector of a file that is opened without a passphrase.
fn without_passphrase(scenario: &'static str, comment: &str, expect: &str, file: &str) -> Vector {
    Vector::new(scenario, comment, expect).with("kind", "identity-file").with("input", file)
}

fn with_passphrase_only(dir: &Path) {
    let more = KdfParams::new(8192, 2, 1).unwrap();
    let cases: &[(&'static str, &str, String)] = &[
        (
            "file-has-a-passphrase",
            "under another passphrase, opened without one",
            seal(KdfParams::MINIMUM, PASSPHRASE, 1),
        ),
        (
            "file-without-passphrase-2-passes",
            "under the public passphrase with 2 passes, opened without one",
            seal(more, NO_PASSPHRASE, 1),
        ),
    ];
    for (scenario, comment, file) in cases {
        without_passphrase(scenario, comment, "authentication", file).write(dir);
    }
}

fn wrong_contents(dir: &Path, good: &str) {
    let sealed = good.find("sealed ").unwrap() + 7;
    let flipped = |at: usize| {
        let mut file = good.to_owned();
        file.replace_range(at..=at, if &file[at..=at] == "A" { "B" } else { "A" });
        file
    };
    let cases: &[(&'static str, &str, &str, String)] = &[
        (
            "file-wrong-passphrase",
            "sealed under another passphrase",
            "authentication",
            seal(KdfParams::MINIMUM, "another one", 1),
        ),
        (
            "file-chunk-salt-changed",
            "first character of the salt of the chunks",
            "authentication",
            flipped(sealed),
        ),
        (
            "file-commitment-changed",
            "a character of the commitment",
            "authentication",
            flipped(sealed + 40),
        ),
        (
            "file-seed-changed",
            "a character of the sealed seeds",
            "authentication",
            flipped(sealed + 100),
        ),
        ("file-tag-changed", "the last character", "authentication", flipped(sealed + 223)),
        (
            "file-salt-changed",
            "first character of the salt of Argon2id",
            "authentication",
            good.replace("1 1 oaGh", "1 1 paGh"),
        ),
        (
            "file-passes-changed",
            "2 passes instead of 1",
            "authentication",
            good.replace(" 8192 1 1 ", " 8192 2 1 "),
        ),
        (
            "file-public-replaced",
            "the public identity of somebody else, in a finished file",
            "authentication",
            good.replace(&long(1), &long(2)),
        ),
        (
            "file-public-kem-of-another",
            "the ML-KEM-768 key of somebody else in the public identity",
            "signature",
            good.replace(&long(1), &kem_key_of_another()),
        ),
        (
            "file-public-of-another",
            "made with the public identity of somebody else",
            "mismatch",
            seal(KdfParams::MINIMUM, PASSPHRASE, 2),
        ),
    ];
    for (scenario, comment, expect, file) in cases {
        vector(scenario, comment, expect, file).write(dir);
    }
}

fn wrong_parameters(dir: &Path, good: &str) {
    let params = |params: &str| good.replace(" 8192 1 1 ", &format!(" {params} "));
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("file-memory-8191", "less memory than the minimum", "limit", params("8191 1 1")),
        ("file-memory-1048577", "more than 1 GiB", "limit", params("1048577 1 1")),
        ("file-memory-2-32", "2^32 KiB", "limit", params("4294967296 1 1")),
        ("file-memory-2-32-8192", "2^32 + 8192 KiB", "limit", params("4294975488 1 1")),
        ("file-passes-0", "no pass", "limit", params("8192 0 1")),
        ("file-passes-17", "17 passes", "limit", params("8192 17 1")),
        ("file-lanes-0", "no lane", "limit", params("8192 1 0")),
        ("file-lanes-5", "5 lanes", "limit", params("8192 1 5")),
        ("file-work", "1 GiB and 5 passes", "limit", params("1048576 5 1")),
        ("file-leading-zero", "a number with a leading zero", "form", params("08192 1 1")),
        ("file-sign", "a number with a sign", "form", params("+8192 1 1")),
        ("file-argon2i", "another function", "form", good.replace("argon2id", "argon2i")),
    ];
    for (scenario, comment, expect, file) in cases {
        vector(scenario, comment, expect, file).write(dir);
    }
}

fn wrong_form(dir: &Path, good: &str) {
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let end = good.len() - 1;
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("file-version-2", "a later version", "version", good.replace(" v1\n", " v2\n")),
        ("file-version-0", "an unknown version", "version", good.replace(" v1\n", " v0\n")),
        ("file-version-01", "not decimal", "form", good.replace(" v1\n", " v01\n")),
        ("file-empty", "no byte", "form", String::new()),
        ("file-is-a-roster", "another format", "form", good.replace("identity v1", "roster v1")),
        ("file-no-line-feed", "the last line feed is missing", "form", good[..end].into()),
        (
            "file-carriage-returns",
            "line ends of another system",
            "form",
            good.replace('\n', "\r\n"),
        ),
        ("file-trailing-line", "an empty line at the end", "form", format!("{good}\n")),
        ("file-without-sealed", "the last line is missing", "form", lines[..3].concat()),
        (
            "file-kdf-twice",
            "a field twice",
            "form",
            [lines[0], lines[1], lines[2], lines[2], lines[3]].concat(),
        ),
        (
            "file-other-order",
            "kdf before public",
            "form",
            [lines[0], lines[2], lines[1], lines[3]].concat(),
        ),
        ("file-two-spaces", "two spaces after a field", "form", good.replace("kdf ", "kdf  ")),
        (
            "file-space-at-end",
            "a space at the end of a line",
            "form",
            format!("{} \n", &good[..end]),
        ),
        ("file-not-ascii", "a letter beyond ASCII", "form", format!("{}\u{e9}\n", &good[..end])),
        ("file-salt-without-padding", "base64 without padding", "form", good.replace("==\n", "\n")),
        (
            "file-salt-bits",
            "base64 with a bit set beyond the last byte",
            "form",
            good.replace("oQ==\n", "oR==\n"),
        ),
        (
            "file-sealed-too-short",
            "four characters less",
            "form",
            format!("{}\n", &good[..end - 4]),
        ),
        (
            "file-public-short",
            "the short form of the public identity",
            "form",
            good.replace(&long(1), &short(1)),
        ),
        (
            "file-public-checksum",
            "a typing error in the public identity",
            "checksum",
            good.replace("public endsealpq1q", "public endsealpq1p")
                .replace("public endsealpq13", "public endsealpq1p"),
        ),
        (
            "file-too-long",
            "4,097 bytes",
            "limit",
            format!("{good}{}", "\n".repeat(4097 - good.len())),
        ),
    ];
    for (scenario, comment, expect, file) in cases {
        vector(scenario, comment, expect, file).write(dir);
    }
}
