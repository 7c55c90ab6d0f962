//! Vectors of files with a name secret.

use std::path::Path;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::hash;
use endseal_crypto::label::S3_NAME_SECRET_CHECK;
use endseal_testing::{Vector, hex};

const SECRET: [u8; 32] = [0x5e; 32];

fn check(secret: &[u8]) -> String {
    let mut out = [0; 8];
    hash::derive_into(S3_NAME_SECRET_CHECK, &[secret], &mut out);
    hex(&out)
}

fn file(secret: &[u8], check: &str) -> String {
    format!("endseal s3-name-secret v1\nsecret {} {check}\n", Base64::encode_string(secret))
}

pub(super) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, file: &str| {
        let escaped = file.replace('\n', "\\n").replace('\r', "\\r");
        Vector::new(scenario, comment, expect)
            .with("kind", "name-secret")
            .with_json("file", &format!("\"{escaped}\""))
    };
    let (own, good) = (check(&SECRET), file(&SECRET, &check(&SECRET)));
    vector("name-secret", "a name secret", "ok", &good)
        .with_hex("name-secret", &SECRET)
        .with("check", &own)
        .write(dir);
    let encoded = Base64::encode_string(&SECRET);
    for (scenario, comment, file) in [
        ("name-secret-empty", "no byte", String::new()),
        ("name-secret-version", "a later version", good.replace(" v1\n", " v2\n")),
        ("name-secret-ring", "another format", good.replace("s3-name-secret", "s3-key-ring")),
        ("name-secret-damaged", "a letter changed", good.replacen("Xl5e", "Xl5f", 1)),
        ("name-secret-check", "the check of another secret", file(&SECRET, &check(&[1; 32]))),
        ("name-secret-check-case", "digits in upper case", {
            file(&SECRET, &own.to_ascii_uppercase())
        }),
        ("name-secret-no-check", "no check", file(&SECRET, "").replace(" \n", "\n")),
        ("name-secret-short", "31 bytes", file(&SECRET[..31], &check(&SECRET[..31]))),
        ("name-secret-long", "33 bytes", file(&[0x5e; 33], &check(&[0x5e; 33]))),
        (
            "name-secret-padding",
            "no padding",
            good.replace(&encoded, encoded.trim_end_matches('=')),
        ),
        ("name-secret-no-line-feed", "the last line feed is missing", good.trim_end().to_owned()),
        ("name-secret-carriage-returns", "line ends of another system", good.replace('\n', "\r\n")),
        ("name-secret-line", "an empty line at the end", format!("{good}\n")),
        ("name-secret-third", "a third part", good.replace(&own, &format!("{own} x"))),
        ("name-secret-spaces", "two spaces", good.replace("secret ", "secret  ")),
    ] {
        vector(scenario, comment, "authentication", &file).write(dir);
    }
}
