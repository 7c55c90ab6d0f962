//! Vectors of peer ids.

use std::path::Path;

use endseal_crypto::peer_id::PeerId;
use endseal_testing::Vector;

use crate::{bech32m, owner, short};

pub(crate) fn write(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, text: &str| {
        Vector::new(scenario, comment, expect).with("kind", "peer-id").with("input", text)
    };
    let text = |id: &PeerId| bech32m::encode("endsealpeer", id.as_bytes());
    for (scenario, n) in [("peer-id", 1), ("peer-id-of-another", 2)] {
        let own = owner(n);
        let key = own.transport_key();
        let id = PeerId::of_spki(&key.public_key().to_spki());
        vector(scenario, "the id of an identity", "ok", &text(&id))
            .with_hex("peer_id", id.as_bytes())
            .with_hex("ed25519_seed", own.signing().seed().expose_secret())
            .with_hex("mlkem768_seed", own.kem().seed().expose_secret())
            .with_hex("mldsa65_seed", key.seed().expose_secret())
            .with_hex("spki", &key.public_key().to_spki())
            .write(dir);
    }

    let id: [u8; 32] = core::array::from_fn(|i| u8::try_from(i).unwrap());
    let good = bech32m::encode("endsealpeer", &id);
    let mut replaced = good.clone();
    replaced.replace_range(20..21, if &good[20..21] == "q" { "p" } else { "q" });
    let failures: &[(&'static str, &str, &str, String)] = &[
        ("peer-id-one-character-replaced", "a typing error", "checksum", replaced),
        (
            "peer-id-bech32",
            "checksum of Bech32 instead of Bech32m",
            "checksum",
            bech32m::encode_without_m("endsealpeer", &id),
        ),
        (
            "peer-id-31-bytes",
            "an id of 31 bytes",
            "length",
            bech32m::encode("endsealpeer", &id[..31]),
        ),
        ("peer-id-truncated", "the last character is missing", "length", good[..69].into()),
        (
            "peer-id-padding",
            "a bit of padding is set",
            "padding",
            bech32m::encode_with_padding("endsealpeer", &id),
        ),
        ("peer-id-upper-case", "all in upper case", "character", good.to_uppercase()),
        ("peer-id-line-feed", "a line feed at the end", "character", format!("{good}\n")),
        ("peer-id-is-an-identity", "a public identity instead", "prefix", short(1)),
        ("peer-id-other-prefix", "another prefix", "prefix", bech32m::encode("endsealpee", &id)),
    ];
    for (scenario, comment, expect, text) in failures {
        vector(scenario, comment, expect, text).write(dir);
    }
}

/// Writes vectors of lists of peers.
pub(crate) fn write_peers(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, text: &str| {
        Vector::new(scenario, comment, expect).with("kind", "peers").with("input", text)
    };
    let text = |n: u8| bech32m::encode("endsealpeer", &[n; 32]);
    let (alice, bob) = (text(1), text(2));
    let header = "# endseal peers: one \"name peer-id\" a line. Comments are not kept.\n";
    let canonical = format!("{header}alice {alice}\nbob {bob}\n");
    vector("peers-canonical", "as it is written", "ok", &canonical)
        .with("output", &canonical)
        .write(dir);
    let edited = format!("\n# at home\r\n  bob\t{bob}  \r\n\nalice   {alice}");
    vector("peers-edited", "comments, blanks, carriage returns, another order", "ok", &edited)
        .with("output", &canonical)
        .write(dir);
    let failures: &[(&'static str, &str, &str, String)] = &[
        (
            "peers-duplicate-name",
            "one name, two peers",
            "duplicate",
            format!("alice {alice}\nalice {bob}\n"),
        ),
        (
            "peers-duplicate-peer",
            "two names, one peer",
            "duplicate",
            format!("alice {alice}\nbob {alice}\n"),
        ),
        ("peers-identity", "an identity in the place of a peer id", "prefix", {
            format!("alice {}\n", short(1))
        }),
        ("peers-name-dot", "a hidden file", "name", format!(".bob {bob}\n")),
        ("peers-one-word", "a name without a peer id", "form", String::from("alice\n")),
    ];
    for (scenario, comment, expect, text) in failures {
        vector(scenario, comment, expect, text).write(dir);
    }
}
