//! Objects for tests to read and to damage.

use bytes::BytesMut;
use core::ops::{Deref, DerefMut};
use endseal_crypto::hazmat;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::segment::{KeySource, SliceSealer, chunks_len};
use endseal_s3_format::ContentChecksum;
use endseal_s3_format::{
    AuthenticationFailed, Binding, Bound, ContentKey, Entry, Form, Header, PartNumber, PartSealer,
    Place, RangePlan, Record, Taken, WholeOpener, size,
};
use endseal_testing::SplitMix64;

use crate::header::base64_decode;

/// Repeatable random choices, which can also be a source of randomness.
pub(crate) struct Seeded(SplitMix64);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }
}

impl Deref for Seeded {
    type Target = SplitMix64;

    fn deref(&self) -> &SplitMix64 {
        &self.0
    }
}

impl DerefMut for Seeded {
    fn deref_mut(&mut self) -> &mut SplitMix64 {
        &mut self.0
    }
}

impl Random for Seeded {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill_with(|| self.byte());
        Ok(())
    }
}

/// A random source that always fails.
pub(crate) struct Broken;

impl Random for Broken {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), RandomError> {
        Err(RandomError::default())
    }
}

/// A random source that fails after a number of values.
pub(crate) struct Breaks(pub(crate) usize);

impl Random for Breaks {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        self.0 = self.0.checked_sub(1).ok_or_else(RandomError::default)?;
        buffer.fill(7);
        Ok(())
    }
}

/// The place of all objects here, with a binding.
pub(crate) fn at(binding: Binding) -> Bound<'static> {
    Bound { place: here(), binding, has_sealed_metadata: false }
}

/// The place of all objects here.
pub(crate) fn here() -> Place<'static> {
    Place::new("bucket", "folder/key").unwrap()
}

pub(crate) fn key(n: u8) -> ContentKey {
    ContentKey::from_bytes(&[n; 32])
}

/// Returns content in which no two chunks are the same, and that differs for each seed.
pub(crate) fn data(seed: u64, len: u64) -> Vec<u8> {
    let mut random = Seeded::new(seed);
    let mut out = Vec::with_capacity(len as usize + 8);
    while out.len() < len as usize {
        out.extend(random.next().to_le_bytes());
    }
    out.truncate(len as usize);
    out
}

/// A whole object, with its content and everything that is needed to open it.
pub(crate) struct Whole {
    pub(crate) header: Header,
    pub(crate) key: ContentKey,
    pub(crate) content: Vec<u8>,
    pub(crate) object: Vec<u8>,
}

impl Whole {
    pub(crate) fn new(len: u64) -> Self {
        Self::with(1, len, None)
    }

    pub(crate) fn with(n: u8, len: u64, checksum: Option<ContentChecksum>) -> Self {
        let (key, content) = (key(n), data(n.into(), len));
        let mut random = Seeded::new(u64::from(n) << 32 | len);
        let (header, mut sealer) =
            Header::whole(&key, len, &at(Binding::Key), ("k", b"wrapped"), &mut random).unwrap();
        let mut object = BytesMut::new();
        sealer.push(&content, &mut object).unwrap();
        sealer.finish(checksum, &mut object).unwrap();
        Self { header, key, content, object: object.to_vec() }
    }

    pub(crate) fn open(&self, object: &[u8]) -> Result<Record, AuthenticationFailed> {
        let (released, opened) = open_whole(&self.header, &self.key, object, object.len().max(1));
        self.check(&released, opened)
    }

    /// Asserts that only content is released, and all of it only if the object is the right one.
    pub(crate) fn check(
        &self,
        released: &[u8],
        opened: Result<Record, AuthenticationFailed>,
    ) -> Result<Record, AuthenticationFailed> {
        assert!(self.content.starts_with(released));
        if opened.is_ok() {
            assert_eq!(released.len(), self.content.len());
        } else {
            let full_chunks = self.content.len() / 16_384 * 16_384;
            assert!(released.len() <= full_chunks, "the last chunk waits for the tail");
        }
        opened
    }
}

/// Opens a whole object that is pushed in pieces. Returns the released bytes, and whether they are
/// all.
pub(crate) fn open_whole(
    header: &Header,
    key: &ContentKey,
    object: &[u8],
    piece: usize,
) -> (Vec<u8>, Result<Record, AuthenticationFailed>) {
    let mut out = Vec::new();
    let opened = WholeOpener::new(header, key).and_then(|mut opener| {
        let mut reader = Reader::default();
        let mut open = |buffer: &mut [u8]| opener.open(buffer);
        object.chunks(piece).try_for_each(|piece| reader.push(piece, &mut open, &mut out))?;
        let (last, record) = opener.finish()?;
        out.extend_from_slice(&last);
        Ok(record)
    });
    assert_short(header, key, object, &out, &opened);
    (out, opened)
}

/// Asserts that opening a short object without a separate buffer has the same result, and that
/// longer objects are refused.
fn assert_short(
    header: &Header,
    key: &ContentKey,
    object: &[u8],
    content: &[u8],
    opened: &Result<Record, AuthenticationFailed>,
) {
    let Ok(mut opener) = WholeOpener::new(header, key) else { return };
    let is_short = opener.is_short();
    match opener.open_short(object).and_then(|taken| Ok((taken, opener.finish()?))) {
        Ok((taken, (last, record))) => {
            assert!(is_short && last.as_slice() == content);
            assert_eq!((taken.sealed, taken.content), (object.len(), 0));
            assert_eq!(Ok(&record), opened.as_ref());
        }
        Err(error) => assert!(!is_short || opened.as_ref() == Err(&error)),
    }
}

/// Passes pieces to an opener, together with the bytes that it did not take before.
#[derive(Default)]
pub(crate) struct Reader(Vec<u8>);

impl Reader {
    pub(crate) fn push(
        &mut self,
        piece: &[u8],
        open: &mut dyn FnMut(&mut [u8]) -> Result<Taken, AuthenticationFailed>,
        out: &mut Vec<u8>,
    ) -> Result<(), AuthenticationFailed> {
        self.0.extend_from_slice(piece);
        let taken = open(&mut self.0)?;
        assert!(taken.content <= taken.sealed);
        out.extend_from_slice(&self.0[..taken.content]);
        self.0.drain(..taken.sealed);
        assert!(self.0.len() < 16_400, "all that has come is taken");
        Ok(())
    }
}

/// A multipart object as a backend joins it.
pub(crate) struct Multipart {
    pub(crate) header: Header,
    pub(crate) key: ContentKey,
    pub(crate) content: Vec<u8>,
    pub(crate) parts: Vec<Vec<u8>>,
    pub(crate) record: Record,
    pub(crate) tail: Vec<u8>,
}

impl Multipart {
    /// Creates parts with these numbers and lengths. The record binds the salt of a part if `bound`
    /// returns true.
    pub(crate) fn new(parts: &[(u16, u64)], bound: impl Fn(u16) -> bool) -> Self {
        let key = key(2);
        let mut random = Seeded::new(parts.len() as u64);
        let header =
            Header::multipart(&key, &at(Binding::Key), ("k", b"wrapped"), &mut random).unwrap();
        let (mut content, mut sealed, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for (number, len) in parts {
            let (part, salt) = seal_part(&key, *number, &data((*number).into(), *len), &mut random);
            content.extend(data((*number).into(), *len));
            sealed.push(part);
            entries.push(Entry {
                number: PartNumber::new(*number).unwrap(),
                plaintext_len: *len,
                salt: bound(*number).then_some(salt),
            });
        }
        let record = Record::multipart(entries, None, false).unwrap();
        let mut tail = BytesMut::new();
        record.seal_tail(&header, &key, &mut random, &mut tail).unwrap();
        Self { header, key, content, parts: sealed, record, tail: tail.to_vec() }
    }

    pub(crate) fn object(&self) -> Vec<u8> {
        [self.parts.concat(), self.tail.clone()].concat()
    }

    /// Opens an object as a reader does: the record from the end, then the whole content.
    pub(crate) fn open(&self, object: &[u8]) -> Result<Record, AuthenticationFailed> {
        let record = open_record(&self.header, &self.key, object)?;
        let range = 0..record.plaintext_len();
        let (released, opened) = open_range(&self.header, &self.key, &record, range, object);
        assert!(self.content.starts_with(&released) || opened.is_ok());
        opened?;
        assert_eq!(released.len() as u64, record.plaintext_len());
        assert!(released == self.content, "other content was released");
        Ok(record)
    }
}

pub(crate) fn seal_part(
    key: &ContentKey,
    number: u16,
    content: &[u8],
    random: &mut Seeded,
) -> (Vec<u8>, [u8; 24]) {
    let number = PartNumber::new(number).unwrap();
    let mut sealer = PartSealer::new(key, number, content.len() as u64, random).unwrap();
    let mut part = BytesMut::new();
    sealer.push(content, &mut part).unwrap();
    let salt = sealer.salt();
    sealer.finish(&mut part).unwrap();
    assert_eq!(size::part_len(content.len() as u64), Some(part.len() as u64));
    (part.to_vec(), salt)
}

/// Opens the record, with as many bytes from the end of the object as the length of the content
/// requires.
pub(crate) fn open_record(
    header: &Header,
    key: &ContentKey,
    object: &[u8],
) -> Result<Record, AuthenticationFailed> {
    let total = object.len() as u64;
    let content = size::plaintext_len(total).ok_or(AuthenticationFailed)?;
    let tail = object.len().saturating_sub(size::tail_len_max(content) as usize);
    Record::open_tail(header, key, total, &object[tail..])
}

/// Opens a range of a multipart object. Returns the released bytes, and whether they are all.
pub(crate) fn open_range(
    header: &Header,
    key: &ContentKey,
    record: &Record,
    range: core::ops::Range<u64>,
    object: &[u8],
) -> (Vec<u8>, Result<(), AuthenticationFailed>) {
    let plan = RangePlan::multipart(record, range).unwrap();
    read_plan(header, key, plan, object, 1 << 20)
}

/// Reads the bytes that a plan requires, and opens them in pieces.
pub(crate) fn read_plan(
    header: &Header,
    key: &ContentKey,
    plan: RangePlan,
    object: &[u8],
    piece: usize,
) -> (Vec<u8>, Result<(), AuthenticationFailed>) {
    let fetch = |range: core::ops::Range<u64>| &object[range.start as usize..range.end as usize];
    let salt = plan.salt().map(|salt| fetch(salt).try_into().unwrap());
    let sealed = fetch(plan.sealed());
    let mut out = Vec::new();
    let opened = plan.opener(header, key, salt).and_then(|mut opener| {
        let mut reader = Reader::default();
        let mut open = |buffer: &mut [u8]| opener.open(buffer);
        sealed.chunks(piece).try_for_each(|piece| reader.push(piece, &mut open, &mut out))?;
        opener.finish()
    });
    (out, opened)
}

/// Seals `salt || chunks` as a writer would that does not follow the rules.
pub(crate) fn seal_message(key: &ContentKey, context: &[u8], message: &[u8]) -> Vec<u8> {
    let salt = [0x5a; 24];
    let mut chunks = vec![0; chunks_len(message.len() as u64).unwrap() as usize];
    let keys = hazmat::uncommitted_seal_keys(&KeySource::new(key), &salt, context);
    let mut sealer = SliceSealer::new(keys, &mut chunks);
    sealer.push(message);
    sealer.finish();
    [&salt[..], &chunks].concat()
}

/// Seals a tail for an object with `body_len` bytes before it and the length T(`plaintext_len`),
/// around a record that need not follow the rules.
pub(crate) fn seal_tail(
    header: &Header,
    key: &ContentKey,
    form: Form,
    plaintext_len: u64,
    body_len: u64,
    record: &[u8],
) -> Vec<u8> {
    let form = if form == Form::Whole { 1 } else { 2 };
    let copy = base64_decode(&header.encode());
    let context = [&b"endseal/s3-object@v1 record"[..], &[form], &copy].concat();
    let sealed = seal_message(key, &context, record);
    let tail = (size::sealed_len(plaintext_len).unwrap() - body_len) as usize;
    let mut out = vec![0; tail - sealed.len() - 4 - size::HEADER_COPY_LEN];
    out.extend(&sealed);
    out.extend((sealed.len() as u32).to_be_bytes());
    out.extend(header.to_copy());
    out
}

/// Pushes `sealed` instead of the bytes that a plan for `range` requires.
pub(crate) fn push_all(
    made: &Multipart,
    range: core::ops::Range<u64>,
    sealed: &[u8],
) -> (Vec<u8>, Result<(), AuthenticationFailed>) {
    let plan = RangePlan::multipart(&made.record, range).unwrap();
    let mut opener = plan.opener(&made.header, &made.key, None).unwrap();
    let mut out = Vec::new();
    let pushed = Reader::default().push(sealed, &mut |buffer| opener.open(buffer), &mut out);
    (out, pushed.and_then(|()| opener.finish()))
}
