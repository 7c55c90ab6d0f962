//! Chunks that the caller encrypts and decrypts: the same bytes, and the same refusals.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use endseal_crypto::identity::Identity;
use endseal_crypto::segment::{CHUNK_LEN, SEALED_CHUNK_LEN};
use endseal_envelope::{DetachedOpenStream, MessageInfo, OpenError, Policy, Sealer, Suite};

use crate::pieces::{Repeated, cut, recipients, seal_pieces};
use crate::{CONTEXT, data, identity};

const BLOCK: usize = 4 << 20;

fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap())
}

fn split(record: &[u8]) -> (Nonce, Vec<u8>) {
    let (nonce, chunk) = record.split_first_chunk::<NONCE_LEN>().unwrap();
    (Nonce::assume_unique_for_key(*nonce), chunk.to_vec())
}

fn seal<'a>(suite: Suite, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let (sender, list) = (identity(1), recipients());
    let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite).time(9);
    let mut out = Vec::new();
    let mut stream = sealer.stream_detached(&mut Repeated, &mut out).unwrap();
    let cipher = cipher(stream.detached_key().unwrap());
    let mut records = Vec::new();
    pieces.into_iter().for_each(|piece| stream.push(piece, &mut records).unwrap());
    stream.finish(&mut records).unwrap();
    for record in records.chunks(NONCE_LEN + CHUNK_LEN) {
        let (nonce, mut chunk) = split(record);
        cipher.seal_in_place_append_tag(nonce, Aad::empty(), &mut chunk).unwrap();
        out.extend(chunk);
    }
    out
}

/// The whole content, if the stream opens.
pub(crate) fn opened<'a>(
    reader: &Identity,
    context: &[u8],
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<u8>, MessageInfo), OpenError> {
    let mut stream = DetachedOpenStream::new(reader, context, Policy::new())?;
    let (mut content, mut sealed, mut index) = (Vec::new(), Vec::new(), 0);
    for mut piece in pieces {
        if !stream.feed(&mut piece)? {
            assert!(piece.is_empty() && stream.key().is_none());
            continue;
        }
        sealed.extend_from_slice(piece);
        // The last chunk is shorter.
        while let Some((chunk, rest)) = sealed.split_at_checked(SEALED_CHUNK_LEN) {
            let chunk = decrypted(&stream, index, chunk)?;
            if let Some(block) = stream.take(chunk.first_chunk().unwrap())? {
                content.extend_from_slice(block);
            }
            (sealed, index) = (rest.to_vec(), index + 1);
        }
    }
    let chunk = match stream.key() {
        Some(_) => decrypted(&stream, index, &sealed)?,
        None => Vec::new(),
    };
    let last = stream.finish(&chunk)?;
    content.extend_from_slice(last.content());
    Ok((content, *last.info()))
}

fn decrypted(
    stream: &DetachedOpenStream<'_, &Identity>,
    index: u64,
    sealed: &[u8],
) -> Result<Vec<u8>, OpenError> {
    let cipher = cipher(stream.key().expect("all slots were read"));
    let nonce = Nonce::assume_unique_for_key(stream.nonce(index).unwrap());
    let mut chunk = sealed.to_vec();
    let opened = cipher.open_in_place(nonce, Aad::empty(), &mut chunk);
    opened.map(|plaintext| plaintext.to_vec()).map_err(|_| OpenError::Authentication)
}

#[test]
fn the_bytes_are_those_of_other_streams() {
    for suite in [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768] {
        let content = data("detached", 40_000);
        assert!(seal(suite, cut(&content, 1)) == seal_pieces(suite, [&content[..]]), "{suite:?}");
    }
    // Around the ends of chunks and blocks, and of what has a last chunk without content.
    for len in [0, 1, 16_263, 16_264, 16_265, 16_328, BLOCK - 1, BLOCK, 2 * BLOCK + 77] {
        let content = data("detached", len);
        let sealed = seal(Suite::X25519, cut(&content, len));
        assert!(sealed == seal_pieces(Suite::X25519, [&content[..]]), "{len}");
        let (again, _) = opened(&identity(2), CONTEXT, cut(&sealed, len)).unwrap();
        assert!(again == content, "{len}");
    }
}

#[test]
fn a_stream_that_failed_keeps_failing() {
    let reader = identity(2);
    let sealed = seal(Suite::X25519, [&data("failing", 70_000)[..]]);
    for is_short in [false, true] {
        let mut stream = DetachedOpenStream::new(&reader, CONTEXT, Policy::new()).unwrap();
        let mut begin = &sealed[..if is_short { 150 } else { 40_000 }];
        assert_eq!(stream.feed(&mut begin).unwrap(), !is_short);
        assert_eq!(begin.is_empty(), is_short);
        assert_eq!(stream.key().is_none(), is_short);
        assert_eq!(stream.nonce(0).is_none(), is_short);
        if is_short {
            assert!(stream.take(&[0; CHUNK_LEN]).is_err(), "there is no key");
            assert!(stream.feed(&mut &[0; 9][..]).is_err());
        }
        // The last chunk is shorter than the others.
        let error = stream.finish(&[0; CHUNK_LEN]).err();
        assert_eq!(error, Some(OpenError::Authentication));
    }
    // What was cut short before the chunks is no end.
    let mut stream = DetachedOpenStream::new(&reader, CONTEXT, Policy::new()).unwrap();
    stream.feed(&mut &sealed[..150]).unwrap();
    assert!(matches!(stream.finish(&[]).err(), Some(OpenError::Malformed(_))));
}

#[test]
fn no_block_without_its_signature_comes_out() {
    let reader = identity(2);
    let sealed = seal(Suite::X25519, [&data("unsigned", BLOCK + 40_000)[..]]);
    let mut stream = DetachedOpenStream::new(&reader, CONTEXT, Policy::new()).unwrap();
    let mut chunks = &sealed[..];
    assert!(stream.feed(&mut chunks).unwrap());
    let mut taken = 0;
    for (index, chunk) in (0..).zip(chunks.chunks(SEALED_CHUNK_LEN)) {
        let chunk = decrypted(&stream, index, chunk).unwrap();
        let mut chunk: [u8; CHUNK_LEN] = chunk.try_into().unwrap();
        // As if a chunk had been authenticated that was changed.
        chunk[CHUNK_LEN - 1] ^= u8::from(taken == 100);
        match stream.take(&chunk) {
            Ok(None) => taken += 1,
            Ok(Some(_)) => panic!("a changed block"),
            Err(error) => {
                assert_eq!((error, taken), (OpenError::Authentication, BLOCK / CHUNK_LEN));
                assert_eq!(stream.take(&chunk), Err(OpenError::Authentication));
                assert!(stream.key().is_none() && stream.info().is_none());
                return;
            }
        }
    }
    panic!("no block was complete");
}
