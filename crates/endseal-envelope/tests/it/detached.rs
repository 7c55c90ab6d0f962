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
    let mut content = Vec::new();
    for piece in pieces {
        let mut records = Vec::new();
        stream.feed(piece, &mut records)?;
        for record in records.chunks(NONCE_LEN + SEALED_CHUNK_LEN) {
            let chunk = decrypted(&stream, record)?;
            let chunk = chunk.first_chunk().expect("each chunk but the last is full");
            if let Some(block) = stream.take(chunk)? {
                content.extend_from_slice(block);
            }
        }
    }
    let mut record = Vec::new();
    stream.end(&mut record)?;
    let chunk = decrypted(&stream, &record)?;
    let last = stream.finish(&chunk)?;
    content.extend_from_slice(last.content());
    Ok((content, *last.info()))
}

fn decrypted(
    stream: &DetachedOpenStream<'_, &Identity>,
    record: &[u8],
) -> Result<Vec<u8>, OpenError> {
    let (nonce, mut chunk) = split(record);
    let cipher = cipher(stream.key().expect("there are records"));
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
        let mut records = Vec::new();
        stream.feed(&sealed[..if is_short { 150 } else { 40_000 }], &mut records).unwrap();
        assert_eq!(records.is_empty(), is_short);
        assert_eq!(stream.key().is_none(), is_short);
        if is_short {
            assert!(stream.end(&mut records).is_err(), "no key, no record");
            assert!(stream.feed(&[0; 9], &mut records).is_err());
            assert!(stream.take(&[0; CHUNK_LEN]).is_err());
        }
        // The last chunk is shorter than the others.
        let error = stream.finish(&[0; CHUNK_LEN]).err();
        assert!(error.is_some());
        assert!(is_short || error == Some(OpenError::Authentication));
    }
}

#[test]
fn no_block_without_its_signature_comes_out() {
    let reader = identity(2);
    let sealed = seal(Suite::X25519, [&data("unsigned", BLOCK + 40_000)[..]]);
    let mut stream = DetachedOpenStream::new(&reader, CONTEXT, Policy::new()).unwrap();
    let mut records = Vec::new();
    stream.feed(&sealed, &mut records).unwrap();
    let mut taken = 0;
    for record in records.chunks(NONCE_LEN + SEALED_CHUNK_LEN) {
        let mut chunk: [u8; CHUNK_LEN] = decrypted(&stream, record).unwrap().try_into().unwrap();
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
