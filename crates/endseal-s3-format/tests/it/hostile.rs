//! Random changes to all input from outside: there is always a result, and never a wrong one.

use bytes::BytesMut;
use endseal_s3_format::names::{NameSecret, Names};
use endseal_s3_format::{
    Binding, Form, Header, Place, Record, UploadId, entity_tag, size, user_metadata,
};

use crate::fixture::{Multipart, Seeded, Whole, at, key, open_whole, seal_tail};
use crate::header::{base64_decode, base64_encode};

const ROUNDS: usize = 30_000;

#[test]
fn headers_and_upload_ids() {
    let mut random = Seeded::new(11);
    let place = Place::new("bucket", "key").unwrap();
    let header =
        Header::multipart(&key(1), &at(Binding::Key), ("k", b"wrapped"), &mut random).unwrap();
    let id = UploadId::seal(&header, &key(1), &place, None, "backend", &mut random).unwrap();
    let (bytes, id_bytes) = (base64_decode(&header.encode()), base64_decode(&id));
    let mut parsed = 0;
    for _ in 0..ROUNDS {
        let text = base64_encode(&random.mutant(&bytes));
        if let Ok(header) = Header::parse(&text) {
            assert_eq!(header.encode(), text, "one encoding of one meaning");
            parsed += 1;
        }
        let text = base64_encode(&random.mutant(&id_bytes));
        if let Ok(mutant) = UploadId::parse(&text)
            && let Ok(backend) = mutant.open(&key(1), &place)
        {
            assert_eq!(backend, (None, "backend".to_owned()));
        }
        let text = random.mutant(id.as_bytes());
        let text = String::from_utf8_lossy(&text);
        let _ = Header::parse(&text);
        assert!(UploadId::parse(&text).is_err() || text.len() > 100);
    }
    assert!(parsed > 100, "changes of salt, key id and wrapped key are well formed: {parsed}");
}

#[test]
fn objects() {
    let mut random = Seeded::new(12);
    for len in [0, 100, 16_384, 20_000] {
        let whole = Whole::new(len);
        for _ in 0..ROUNDS / 20 {
            let mutant = random.mutant(&whole.object);
            let piece = 1 + random.below(20_000);
            let (released, opened) = open_whole(&whole.header, &whole.key, &mutant, piece);
            let opened = whole.check(&released, opened);
            assert_eq!(opened.is_ok(), mutant == whole.object);
        }
    }
    for bound in [true, false] {
        let made = Multipart::new(&[(3, 500)], |_| bound);
        let object = made.object();
        for _ in 0..ROUNDS / 5 {
            let mutant = random.mutant(&object);
            if let Ok(record) = made.open(&mutant) {
                assert_eq!(record, made.record);
            }
        }
    }
}

/// Records that are sealed with the right key: a record that is read must be the one that was
/// written, and follow the rules.
#[test]
fn records() {
    let mut random = Seeded::new(13);
    let made = Multipart::new(&[(1, 500)], |_| true);
    let body = made.parts.concat();
    let mut good = [&[1, 2, 5][..], &[9; 32], &[1, 0, 0, 0, 1], &500_u64.to_be_bytes()].concat();
    good.extend([0, 1, 0, 0, 0, 0, 1, 0xf4]);
    good.extend(&body[..24]);
    let mut opened = 0;
    for _ in 0..ROUNDS {
        let mutant = random.mutant(&good);
        // A tail of this object cannot be longer than T leaves space for.
        if mutant.len() > 104 {
            continue;
        }
        let tail =
            seal_tail(&made.header, &made.key, Form::Multipart, 500, body.len() as u64, &mutant);
        let total = (body.len() + tail.len()) as u64;
        if let Ok(record) = Record::open_tail(&made.header, &made.key, total, &tail) {
            let mut again = BytesMut::new();
            record.seal_tail(&made.header, &made.key, &mut Fixed, &mut again).unwrap();
            assert!(again == tail, "one encoding of one meaning");
            assert_eq!(record.plaintext_len(), 500);
            opened += 1;
        }
    }
    assert!(opened > 100, "changes of salt and checksum are records: {opened}");
}

/// A random source that returns the salt of `seal_message`.
struct Fixed;

impl endseal_crypto::random::Random for Fixed {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), endseal_crypto::random::RandomError> {
        buffer.fill(0x5a);
        Ok(())
    }
}

#[test]
fn tags_names_and_metadata() {
    let mut random = Seeded::new(14);
    let whole = Whole::new(5);
    let names = Names::new(&NameSecret::from_bytes(&[5; 32]), "bucket");
    let key = names.seal_key("some folder/and/a name").unwrap();
    let mut metadata = user_metadata::UserMetadata::new();
    metadata.insert("name", b"value").unwrap();
    metadata.insert("other", b"value").unwrap();
    let sealed = user_metadata::seal(&whole.header, &whole.key, &metadata, &mut random).unwrap();
    let tags = format!("\"abc-0\", W/\"def-12\", *, \"x-{}\"", "a5".repeat(24));
    for _ in 0..ROUNDS {
        let text = |random: &mut Seeded, good: &str| {
            String::from_utf8_lossy(&random.mutant(good.as_bytes())).into_owned()
        };
        let mutant = text(&mut random, &key);
        assert_eq!(names.open_key(&mutant).is_ok(), mutant == key || is_folder(&key, &mutant));
        let mutant = text(&mut random, &sealed);
        let opened = user_metadata::open(&whole.header, &whole.key, &mutant);
        assert_eq!(opened.is_ok(), mutant == sealed);
        let mutant = text(&mut random, &tags);
        assert!(entity_tag::list_to_backend(&mutant).len() <= 3 * mutant.len() + 10);
        assert_eq!(entity_tag::to_backend(&entity_tag::to_client(&mutant)), mutant);
        if let Ok(tag) = entity_tag::PartTag::parse(&mutant) {
            assert_eq!(entity_tag::PartTag::parse(&tag.encode()), Ok(tag));
        }
    }
}

/// Returns true if the mutant is the key cut after a component, and therefore the name of a folder,
/// with any number of slashes after it.
fn is_folder(key: &str, mutant: &str) -> bool {
    let cut = mutant.trim_end_matches('/');
    cut.is_empty() || cut == key || key.starts_with(&format!("{cut}/"))
}

#[test]
fn lengths() {
    let mut random = Seeded::new(15);
    for _ in 0..ROUNDS * 10 {
        let bits = random.below(64);
        let sealed = random.next() >> bits;
        if let Some(plaintext) = size::plaintext_len(sealed) {
            assert_eq!(size::sealed_len(plaintext), Some(sealed));
        }
        if let Some(plaintext) = size::part_plaintext_len(sealed) {
            assert_eq!(size::part_len(plaintext), Some(sealed));
        }
    }
}
