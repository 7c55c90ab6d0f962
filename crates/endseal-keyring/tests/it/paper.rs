//! Root seeds as words on paper, and in identity files.

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::random::OsRandom;
use endseal_keyring::{IdentityFile, PaperText, ParsePaperError, SecretText};

#[test]
fn words_are_those_that_bip_39_has_for_the_entropy() {
    let words = |n| PaperText::encode(&RootSeed::from_bytes(&[n; 32])).expose_secret().to_owned();
    assert_eq!(words(0), "abandon ".repeat(23) + "art");
    assert_eq!(words(0xff), "zoo ".repeat(23) + "vote");
    let winner = "legal winner thank year wave sausage worth useful ".repeat(3);
    assert_eq!(words(0x7f), winner.trim_end().strip_suffix("useful").unwrap().to_owned() + "title");
}

#[test]
fn random_seeds_come_back_from_their_words() {
    for _ in 0..100 {
        let seed = RootSeed::generate(&mut OsRandom).unwrap();
        let text = PaperText::encode(&seed);
        assert!(PaperText::decode(text.expose_secret()).is_ok_and(|read| read == seed));
    }
}

#[test]
fn a_word_left_out_or_not_of_the_list_is_found_with_its_place() {
    let text = PaperText::encode(&RootSeed::from_bytes(&[0x7f; 32]));
    let words: Vec<_> = text.expose_secret().split(' ').collect();
    for place in 0..words.len() {
        let mut fewer = words.clone();
        fewer.remove(place);
        let cut = PaperText::decode(&fewer.join(" "));
        assert!(matches!(cut, Err(ParsePaperError::Count(23))));
        let mut other = words.clone();
        other[place] = "endseal";
        let other = PaperText::decode(&other.join(" "));
        assert!(matches!(other, Err(ParsePaperError::Word { place: it }) if it == place + 1));
    }
    assert!(matches!(
        PaperText::decode(&"abandon ".repeat(100_000)),
        Err(ParsePaperError::Count(100_000))
    ));
}

#[test]
fn an_identity_file_keeps_the_root_seed_and_secret_text_does_not() {
    let seed = RootSeed::generate(&mut OsRandom).unwrap();
    let words = PaperText::encode(&seed);
    let root = Identity::from_root_seed(seed);
    let file = IdentityFile::seal_without_passphrase(&root, &mut OsRandom).unwrap();
    let opened = IdentityFile::parse(file.as_bytes()).unwrap().open_without_passphrase();
    let opened = opened.ok().flatten().unwrap();
    assert_eq!(opened.public(), root.public());
    let again = PaperText::encode(opened.root_seed().unwrap());
    assert_eq!(again.expose_secret(), words.expose_secret());
    let moved = SecretText::decode(SecretText::encode(&root).expose_secret()).ok().unwrap();
    assert_eq!(moved.public(), root.public());
    assert!(moved.root_seed().is_none());
    let file = IdentityFile::seal_without_passphrase(&moved, &mut OsRandom).unwrap();
    let opened = file.open_without_passphrase().ok().flatten().unwrap();
    assert!(opened.root_seed().is_none());
}

#[test]
fn errors_repeat_no_word() {
    let text = "abandon ".repeat(23) + "sesame";
    let refused = PaperText::decode(&text).err().unwrap();
    assert_eq!(refused.to_string(), "word 24 is not of the list");
}
