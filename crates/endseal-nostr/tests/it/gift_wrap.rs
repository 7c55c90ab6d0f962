//! Runs `vectors/nostr/gift-wrap.json`, and tests wraps that our code makes.

use endseal_crypto::secp256k1::{SecretKey, SigningKey};
use endseal_nostr::event::{Event, Rumor, Tags, Template};
use endseal_nostr::gift_wrap::{
    CHAT_MESSAGE, DELETION, EPHEMERAL_GIFT_WRAP, FILE_MESSAGE, GIFT_WRAP, Layer, Lifetime,
    REACTION, UnwrapError, WrapError, Wrapping, max_wrapped_len, unwrap, wrap,
};
use endseal_nostr::json::Text;

use crate::fixture::{FixedRandom, array, cases, hex, key, secret, text};

/// Unwraps `wrap` and returns the rumor's JSON. If it is refused, the remaining buffer is checked.
fn open(wrap: &str, own: &SecretKey) -> Result<(String, Lifetime, Option<u64>), UnwrapError> {
    let mut buffer = wrap.as_bytes().to_vec();
    let opened = unwrap(&mut buffer, own).map(|unwrapped| {
        let mut out = vec![0; wrap.len()];
        let rumor = str::from_utf8(unwrapped.rumor.write(&mut out).unwrap()).unwrap();
        (rumor.to_owned(), unwrapped.lifetime, unwrapped.expiration)
    });
    let is_wiped = buffer.iter().all(|byte| *byte == 0);
    match opened {
        Ok(_) => {}
        Err(UnwrapError::Wrap | UnwrapError::Kind) => assert_eq!(buffer, wrap.as_bytes()),
        Err(UnwrapError::Authentication) => assert!(is_wiped || buffer == wrap.as_bytes()),
        Err(_) => assert!(is_wiped),
    }
    opened
}

#[test]
fn every_vector() {
    let (mut successes, mut failures) = (0, 0);
    for case in cases("gift-wrap.json") {
        let comment = text(&case, "comment");
        let opened = open(text(&case, "wrap"), &secret(&case, "receiver_secret"));
        let verdict = match &opened {
            Ok((rumor, lifetime, expiration)) => {
                assert_eq!(rumor, text(&case, "rumor"), "{comment}");
                let rumor = Rumor::parse(rumor.as_bytes()).unwrap();
                assert_eq!(rumor.pubkey, array(&case, "author"), "{comment}");
                let is_stored = *lifetime == Lifetime::Stored;
                assert_eq!(is_stored, text(&case, "lifetime") == "stored", "{comment}");
                assert_eq!(*expiration, case["expiration"].as_u64(), "{comment}");
                "ok"
            }
            Err(UnwrapError::Wrap) => "wrap",
            Err(UnwrapError::Kind) => "kind",
            Err(UnwrapError::Authentication) => "authentication",
            Err(UnwrapError::UnsupportedVersion) => "version",
            Err(UnwrapError::Seal) => "seal",
            Err(UnwrapError::Rumor) => "rumor",
            Err(UnwrapError::Author) => "author",
            Err(error) => panic!("{error}"),
        };
        assert_eq!(verdict, text(&case, "expect"), "{comment}");
        *(if opened.is_ok() { &mut successes } else { &mut failures }) += 1;
    }
    assert!(successes >= 9 && failures >= 40, "{successes} {failures}");
}

const TAGS: &[&[&str]] = &[&["p", "x"], &["subject", "a \"quoted\" one\n"]];

fn template(kind: u16, content: &str) -> Template<'_> {
    Template {
        pubkey: None,
        created_at: 1_700_000_000,
        kind,
        tags: Tags::List(TAGS),
        content: Text::Plain(content),
    }
}

const WRAPPING: Wrapping = Wrapping {
    seal: Layer { created_at: 1_699_900_000, expiration: None },
    wrap: Layer { created_at: 1_699_950_000, expiration: None },
    lifetime: Lifetime::Stored,
};

fn signing_key(label: &str) -> SigningKey {
    SigningKey::new(key(label))
}

/// Makes a wrap from "author" to "receiver".
fn wrapped(
    rumor: &Template<'_>,
    wrapping: &Wrapping,
    random: &mut FixedRandom,
) -> Result<String, WrapError> {
    let mut json = vec![0; 200_000];
    let author = signing_key("author");
    let len = rumor.rumor(author.public_key()).write(&mut json).unwrap().len();
    let len = max_wrapped_len(len).unwrap();
    let (mut scratch, mut out) = (vec![0x5a; len], vec![0x5a; len]);
    let receiver = key("receiver").public_key();
    let wrap = wrap(rumor, &author, &receiver, wrapping, random, &mut scratch, &mut out);
    let wrap = wrap.map(|wrap| str::from_utf8(wrap).unwrap().to_owned());
    if wrap.is_err() {
        assert!(scratch.iter().chain(&out).all(|byte| *byte == 0), "both are wiped");
    }
    wrap
}

#[test]
fn the_receiver_unwraps_what_the_author_wrapped() {
    let long = "long \u{1f30d} \"text\"\u{1}\n".repeat(6_000);
    let author = signing_key("author");
    for kind in [CHAT_MESSAGE, FILE_MESSAGE, REACTION, DELETION, 1] {
        for content in ["", "Are you there?", &long] {
            for lifetime in [Lifetime::Stored, Lifetime::Ephemeral] {
                let template = template(kind, content);
                let wrapping = Wrapping { lifetime, ..WRAPPING };
                let wrap = wrapped(&template, &wrapping, &mut FixedRandom::new(1)).unwrap();
                let (rumor, found, expiration) = open(&wrap, &key("receiver")).unwrap();
                let rumor = Rumor::parse(rumor.as_bytes()).unwrap();
                assert_eq!(rumor, template.rumor(author.public_key()));
                assert_eq!((found, expiration), (lifetime, None));
            }
        }
    }
}

#[test]
fn a_wrap_shows_the_receiver_and_its_own_time_alone() {
    for (lifetime, kind) in
        [(Lifetime::Stored, GIFT_WRAP), (Lifetime::Ephemeral, EPHEMERAL_GIFT_WRAP)]
    {
        let wrapping = Wrapping { lifetime, ..WRAPPING };
        let wrap = wrapped(&template(14, "hidden"), &wrapping, &mut FixedRandom::new(2)).unwrap();
        let event = Event::parse(wrap.as_bytes()).unwrap();
        event.verify().unwrap();
        assert_eq!((event.kind, event.created_at), (kind, 1_699_950_000));
        let receiver = hex(&key("receiver").public_key().to_bytes());
        assert_eq!(event.tags, Tags::List(&[&["p", &receiver]]));
        let author = key("author").public_key().to_bytes();
        assert_ne!(event.pubkey, author);
        assert!(!wrap.contains(&hex(&author)));
    }
}

#[test]
fn each_wrap_has_a_key_and_payloads_of_its_own() {
    let mut random = FixedRandom::new(3);
    let wraps = [(); 4].map(|()| wrapped(&template(14, "again"), &WRAPPING, &mut random).unwrap());
    for (i, one) in wraps.iter().enumerate() {
        for other in &wraps[i + 1..] {
            let events = [one, other].map(|wrap| Event::parse(wrap.as_bytes()).unwrap());
            assert_ne!(events[0].pubkey, events[1].pubkey);
            assert_ne!(events[0].content, events[1].content);
        }
    }
}

#[test]
fn each_layer_expires_at_its_own_time() {
    for (seal, wrap) in [(None, Some(5)), (Some(7), None), (Some(7), Some(5)), (Some(5), Some(7))] {
        let mut wrapping = WRAPPING;
        (wrapping.seal.expiration, wrapping.wrap.expiration) = (seal, wrap);
        let json = wrapped(&template(14, "gone"), &wrapping, &mut FixedRandom::new(4)).unwrap();
        let event = Event::parse(json.as_bytes()).unwrap();
        let time = wrap.map(|time: u64| time.to_string());
        assert_eq!(event.tags.value("expiration"), time.as_deref().map(Text::Plain));
        let (_, _, expiration) = open(&json, &key("receiver")).unwrap();
        assert_eq!(expiration, [seal, wrap].into_iter().flatten().min());
    }
}

/// A relay can write the same signed event with other escapes, which must not change its
/// expiration.
#[test]
fn an_expiration_counts_however_its_digits_are_written() {
    let at = |expiration| Layer { created_at: 1_699_900_000, expiration };
    let wrapping =
        Wrapping { seal: at(None), wrap: at(Some(1_700_000_100)), lifetime: Lifetime::Stored };
    let wrap = wrapped(&template(14, "a"), &wrapping, &mut FixedRandom::new(7)).unwrap();
    let escaped = wrap.replace("1700000100", "\\u0031700000\\u0031\\u00300");
    assert_ne!(escaped, wrap);
    for wrap in [wrap, escaped] {
        assert_eq!(open(&wrap, &key("receiver")).unwrap().2, Some(1_700_000_100));
    }
}

#[test]
fn others_do_not_unwrap() {
    let wrap = wrapped(&template(14, "hidden"), &WRAPPING, &mut FixedRandom::new(5)).unwrap();
    for other in ["author", "an outsider"] {
        assert_eq!(open(&wrap, &key(other)), Err(UnwrapError::Authentication));
    }
}

#[test]
fn a_wrap_with_any_byte_changed_is_refused() {
    let wrap = wrapped(&template(14, "hi"), &WRAPPING, &mut FixedRandom::new(6)).unwrap();
    let own = key("receiver");
    for at in 0..wrap.len() {
        let mut changed = wrap.clone().into_bytes();
        changed[at] ^= 1;
        // All of it is ASCII, so the bytes are valid text.
        open(str::from_utf8(&changed).unwrap(), &own).unwrap_err();
    }
    for len in 0..wrap.len() {
        assert_eq!(open(&wrap[..len], &own), Err(UnwrapError::Wrap));
    }
}

#[test]
fn nothing_is_wrapped_without_randomness_or_space() {
    let rumor = template(14, "hi");
    for reads in 0..5 {
        let refused = wrapped(&rumor, &WRAPPING, &mut FixedRandom(1, reads));
        assert_eq!(refused, Err(WrapError::Random), "{reads}");
    }
    wrapped(&rumor, &WRAPPING, &mut FixedRandom(1, 5)).unwrap();

    let (author, receiver) = (signing_key("author"), key("receiver").public_key());
    let write = |scratch_len: usize, out_len: usize| {
        let (mut scratch, mut out) = (vec![0x5a; scratch_len], vec![0x5a; out_len]);
        let random = &mut FixedRandom::new(1);
        let error =
            wrap(&rumor, &author, &receiver, &WRAPPING, random, &mut scratch, &mut out).err();
        assert!(error.is_none() || scratch.iter().chain(&out).all(|byte| *byte == 0));
        error
    };
    assert_eq!(write(4_000, 4_000), None);
    for len in [0, 100, 500, 1_000] {
        assert!(matches!(write(len, 4_000), Some(WrapError::Output(_))), "{len}");
        assert!(matches!(write(4_000, len), Some(WrapError::Output(_))), "{len}");
    }
}

#[test]
fn a_rumor_of_another_author_is_not_wrapped() {
    let mut rumor = template(14, "hi");
    rumor.pubkey = Some(key("receiver").public_key().to_bytes());
    let refused = wrapped(&rumor, &WRAPPING, &mut FixedRandom::new(7));
    assert_eq!(refused, Err(WrapError::OtherAuthor));
    rumor.pubkey = Some(key("author").public_key().to_bytes());
    wrapped(&rumor, &WRAPPING, &mut FixedRandom::new(7)).unwrap();
}
