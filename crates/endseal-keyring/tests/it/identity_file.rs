//! Identity files: parsing, passphrases and damage.

use endseal_keyring::identity_file::{
    MAX_LEN, OpenIdentityFileError, ParseIdentityFileError as Parse,
};
use endseal_keyring::{
    IdentityFile, IdentityText, InvalidKdfParams, KdfParams, LineProblem, Malformed,
    ParseIdentityError, Passphrase, hazmat,
};

use crate::people::identity;

fn passphrase() -> Passphrase {
    Passphrase::new("correct horse").ok().unwrap()
}

fn sealed() -> IdentityFile {
    let own = identity(1);
    let (salt, chunk_salt) = ([3; 16], [4; 24]);
    let params = KdfParams::MINIMUM;
    hazmat::seal_identity_file(&own, own.public(), &passphrase(), params, &salt, &chunk_salt)
        .unwrap()
}

fn text() -> String {
    String::from_utf8(sealed().as_bytes().to_vec()).unwrap()
}

fn why(text: &str) -> Parse {
    IdentityFile::parse(text.as_bytes()).unwrap_err()
}

fn malformed(text: &str) -> (usize, LineProblem) {
    match why(text) {
        Parse::Malformed(Malformed { line, problem, .. }) => (line, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_opens_with_its_passphrase_alone() {
    let file = IdentityFile::parse(sealed().as_bytes()).unwrap();
    assert_eq!(file, sealed());
    assert_eq!(file.public(), identity(1).public());
    assert_eq!(file.params(), KdfParams::MINIMUM);
    assert_eq!(file.open(&passphrase()).ok().unwrap().public(), identity(1).public());
    for wrong in ["correct hors", "correct horse ", "Correct horse"] {
        let wrong = Passphrase::new(wrong).ok().unwrap();
        assert_eq!(file.open(&wrong).err(), Some(OpenIdentityFileError::Authentication));
    }
}

#[cfg(feature = "std")]
#[test]
fn two_files_of_one_identity_differ() {
    let mut random: endseal_crypto::random::OsRandom = Default::default();
    let mut seal = || {
        IdentityFile::seal(&identity(1), &passphrase(), KdfParams::MINIMUM, &mut random).unwrap()
    };
    let (one, two) = (seal(), seal());
    assert_ne!(one, two);
    for file in [one, two] {
        assert!(file.as_bytes().len() < MAX_LEN * 2 / 3);
        assert_eq!(file.open(&passphrase()).ok().unwrap().public(), identity(1).public());
    }
}

#[test]
fn every_changed_byte_is_refused() {
    let good = text();
    let (mut parsed, mut opened) = (0, 0);
    for at in 0..good.len() {
        for flip in [0x01, 0x80] {
            let mut bad = good.clone().into_bytes();
            bad[at] ^= flip;
            let Ok(file) = IdentityFile::parse(&bad) else { continue };
            parsed += 1;
            // Each file with the right form costs an Argon2id computation.
            opened += usize::from(file.open(&passphrase()).is_ok());
        }
    }
    assert_eq!(opened, 0);
    assert!((20..300).contains(&parsed), "{parsed}");
}

#[test]
fn every_field_of_the_header_is_bound_to_the_key() {
    let good = text();
    let line = |name: &str| good.lines().find(|line| line.starts_with(name)).unwrap();
    let other = IdentityText::from(identity(2).public().clone()).to_string();
    let salt = line("kdf").rsplit(' ').next().unwrap();
    for (from, to) in [
        (line("public "), format!("public {other}")),
        (" 8192 1 1 ", " 8193 1 1 ".to_owned()),
        (" 8192 1 1 ", " 8192 2 1 ".to_owned()),
        (" 8192 1 1 ", " 8192 1 2 ".to_owned()),
        (salt, "AAAAAAAAAAAAAAAAAAAAAA==".to_owned()),
    ] {
        assert!(good.contains(from) && from != to);
        let file = IdentityFile::parse(good.replacen(from, &to, 1).as_bytes()).unwrap();
        // This is not a mismatch of the identity, because nothing is decrypted under another
        // header.
        let refused = Some(OpenIdentityFileError::Authentication);
        assert_eq!(file.open(&passphrase()).err(), refused, "{to}");
    }
}

#[test]
fn every_truncation_and_extension_is_refused() {
    let good = text();
    for len in 0..good.len() {
        assert!(IdentityFile::parse(&good.as_bytes()[..len]).is_err(), "{len}");
    }
    for extra in ["\n", " ", "x", "sealed ", "\0"] {
        assert!(IdentityFile::parse(format!("{good}{extra}").as_bytes()).is_err());
    }
    assert_eq!(why(&"x".repeat(MAX_LEN + 1)), Parse::TooLong);
}

#[test]
fn each_wrong_field_has_its_error() {
    let good = text();
    let with = |from: &str, to: &str| {
        assert!(good.contains(from));
        good.replacen(from, to, 1)
    };
    for version in ["0", "2", "10", "340282366920938463463374607431768211456"] {
        assert_eq!(why(&with(" v1\n", &format!(" v{version}\n"))), Parse::Version);
    }
    for version in ["", "01", "00", "+1", "-1", "1 ", " 1", "1.0", "0x1"] {
        let bad = with(" v1\n", &format!(" v{version}\n"));
        assert_eq!(malformed(&bad), (1, LineProblem::Expected("endseal identity")), "{version}");
    }
    for (bad, line, problem) in [
        (with(" v1\n", " v1\r\n"), 1, LineProblem::Expected("endseal identity")),
        (with("public ", "Public "), 2, LineProblem::Expected("public")),
        (with("\nkdf", "\r\nkdf"), 2, LineProblem::CarriageReturn),
        (with("kdf argon2id", "kdf scrypt"), 3, LineProblem::Value("kdf")),
        (with("\nsealed", " \nsealed"), 3, LineProblem::Value("kdf")),
        (with("sealed ", "sealed  "), 4, LineProblem::Value("sealed")),
        (with("sealed ", "sealed \u{e9}"), 4, LineProblem::Character),
        (good.trim_end().to_owned(), 4, LineProblem::Truncated),
        (format!("{good}\n"), 5, LineProblem::Trailing),
    ] {
        assert_eq!(malformed(&bad), (line, problem), "{bad}");
    }
    let last = good.find("\nkdf").unwrap();
    let mut typo = good.clone();
    typo.replace_range(last - 1..last, if &good[last - 1..last] == "q" { "p" } else { "q" });
    assert_eq!(why(&typo), Parse::Public(ParseIdentityError::Checksum));
}

#[test]
fn parameters_out_of_bounds_are_refused_before_any_work() {
    let good = text();
    for (params, error) in [
        ("4294967295 4294967295 4294967295", InvalidKdfParams::Memory),
        ("18446744073709551615 1 1", InvalidKdfParams::Memory),
        ("1048577 1 1", InvalidKdfParams::Memory),
        ("8191 1 1", InvalidKdfParams::Memory),
        ("1048576 16 1", InvalidKdfParams::Work),
        ("8192 17 1", InvalidKdfParams::Passes),
        ("8192 0 1", InvalidKdfParams::Passes),
        ("8192 1 5", InvalidKdfParams::Lanes),
    ] {
        assert_eq!(why(&good.replace("8192 1 1", params)), Parse::Kdf(error), "{params}");
    }
}

#[test]
fn a_file_that_claims_another_identity_is_refused() {
    let claimed = identity(2);
    let file = hazmat::seal_identity_file(
        &identity(1),
        claimed.public(),
        &passphrase(),
        KdfParams::MINIMUM,
        &[3; 16],
        &[4; 24],
    );
    let file = file.unwrap();
    assert_eq!(file.open(&passphrase()).err(), Some(OpenIdentityFileError::OtherIdentity));
}
