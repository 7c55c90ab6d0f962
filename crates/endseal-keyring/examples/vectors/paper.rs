//! Vectors of root seeds as words, and of identity files that contain one.

use std::path::Path;

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_keyring::{KdfParams, PaperText, Passphrase, hazmat};

use endseal_testing::Vector;

pub(crate) fn write(dir: &Path) {
    successes(dir);
    failures(dir);
    files(dir);
}

/// Returns the identity of a root seed of repeated bytes.
fn root(n: u8) -> Identity {
    Identity::from_root_seed(RootSeed::from_bytes(&[n; 32]))
}

fn words(n: u8) -> String {
    PaperText::encode(&RootSeed::from_bytes(&[n; 32])).expose_secret().to_owned()
}

fn vector(scenario: &'static str, comment: &str, expect: &str, input: &str) -> Vector {
    Vector::new(scenario, comment, expect).with("kind", "paper").with("input", input)
}

fn with_seeds(vector: Vector, identity: &Identity) -> Vector {
    let seed = identity.root_seed().expect("identities here have one");
    vector
        .with_hex("root_seed", seed.expose_secret())
        .with_hex("ed25519_seed", identity.signing().seed().expose_secret())
        .with_hex("mlkem768_seed", identity.kem().seed().expose_secret())
}

fn successes(dir: &Path) {
    let good = words(0x7f);
    let cases: &[(&'static str, &str, u8, String)] = &[
        ("paper", "a seed of 32 bytes 7f", 0x7f, good.clone()),
        ("paper-zero", "a seed of zeros", 0, words(0)),
        ("paper-ones", "a seed of ones: the last words of the list", 0xff, words(0xff)),
        ("paper-upper-case", "in upper case", 0x7f, good.to_uppercase()),
        ("paper-first-letters", "with some capitals", 0x7f, good.replace("lega", "LeGa")),
        (
            "paper-four-lines",
            "on lines of six words, with blanks at both ends",
            0x7f,
            good.split(' ').enumerate().fold(" \r\n".to_owned(), |text, (i, word)| {
                text + word + if i % 6 == 5 { "\t\r\n" } else { "  " }
            }),
        ),
    ];
    for (scenario, comment, seed, input) in cases {
        let own = vector(scenario, comment, "ok", input).with("output", &words(*seed));
        with_seeds(own, &root(*seed)).write(dir);
    }
}

fn failures(dir: &Path) {
    let good = words(0x7f);
    let (all_but_one, _) = good.rsplit_once(' ').unwrap();
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("paper-empty", "no word", "count", String::new()),
        ("paper-23", "a word is missing", "count", all_but_one.into()),
        ("paper-25", "a word too many", "count", format!("{good} zoo")),
        (
            "paper-12",
            "12 words, as BIP-39 has them too",
            "count",
            "legal winner thank year wave sausage worth useful legal winner thank yellow".into(),
        ),
        ("paper-joined", "a space is missing", "count", good.replacen(' ', "", 1)),
        ("paper-comma", "a comma behind a word", "word", good.replacen(' ', ", ", 1)),
        ("paper-unknown", "a word of no list", "word", good.replacen("winner", "winters", 1)),
        ("paper-long", "a word that begins as one of the list", "word", {
            good.replacen("winner", "winnerwinner", 1)
        }),
        ("paper-short", "the first four letters of a word", "word", {
            good.replacen("winner", "winn", 1)
        }),
        ("paper-not-ascii", "a letter beyond ASCII", "word", {
            good.replacen("winner", "w\u{131}nner", 1)
        }),
        ("paper-number", "the index of a word", "word", good.replacen("winner", "2018", 1)),
        ("paper-another", "another word of the list", "checksum", {
            good.replacen("winner", "winter", 1)
        }),
        ("paper-exchanged", "two words in the other order", "checksum", {
            good.replacen("legal winner", "winner legal", 1)
        }),
        ("paper-last", "the last word of 24 equal ones", "checksum", {
            "abandon ".repeat(23) + "abandon"
        }),
    ];
    for (scenario, comment, expect, input) in cases {
        vector(scenario, comment, expect, input).write(dir);
    }
}

fn files(dir: &Path) {
    const PASSPHRASE: &str = "correct horse battery staple";
    let seal = |claimed: u8| {
        let file = hazmat::seal_identity_file(
            &root(0x7f),
            root(claimed).public(),
            &Passphrase::new(PASSPHRASE).unwrap(),
            KdfParams::MINIMUM,
            &[0xa1; 16],
            &[0xb2; 24],
        );
        String::from_utf8(file.unwrap().as_bytes().to_vec()).unwrap()
    };
    let vector = |scenario, comment, expect, file: &str| {
        Vector::new(scenario, comment, expect)
            .with("kind", "identity-file")
            .with("passphrase", PASSPHRASE)
            .with("input", file)
    };
    let good = seal(0x7f);
    with_seeds(vector("file-root", "it holds a root seed", "ok", &good), &root(0x7f)).write(dir);
    let another = seal(0x80);
    vector("file-root-of-another", "another root's public identity", "mismatch", &another)
        .write(dir);
    // The last group of four characters stands for two bytes, four more for three.
    let longer = good.replacen("sealed ", "sealed AAAA", 1);
    vector("file-root-too-long", "107 bytes", "form", &longer).write(dir);
    let at = good.len() - 30;
    let changed = if &good[at..=at] == "A" { "B" } else { "A" };
    let changed = [&good[..at], changed, &good[at + 1..]].concat();
    vector("file-root-changed", "a character of the sealed seed", "authentication", &changed)
        .write(dir);
}
