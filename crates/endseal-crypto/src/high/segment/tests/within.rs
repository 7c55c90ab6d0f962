//! Chunks that are opened within one buffer.

use super::*;

const SHIFTS: [usize; 9] = [0, 1, 15, 16, 17, 64, 512, 47 * 16, 16_384];

fn keys() -> ChunkKeys {
    open_keys(&[9; SALT_LEN])
}

/// The content of a stream whose chunks lie one behind another.
pub(super) fn opened(keys: &ChunkKeys, chunks: &[u8]) -> Option<Vec<u8>> {
    plaintext_len(chunks.len() as u64)?;
    let mut buffer = chunks.to_vec();
    let mut content = 0;
    for (index, start) in (0..).zip((0..chunks.len()).step_by(SEALED_CHUNK_LEN)) {
        let sealed = start..chunks.len().min(start + SEALED_CHUNK_LEN);
        content += keys.open_chunk_within(index, &mut buffer, sealed, content).ok()?;
    }
    buffer.truncate(content);
    Some(buffer)
}

#[test]
fn a_run_of_chunks_becomes_its_content() {
    for last in [0, 1, 511, 512, 5_000, CHUNK_LEN - 1] {
        let plaintext = data(48 * CHUNK_LEN + last);
        let sealed = seal_with_salt(&key(), &[9; SALT_LEN], b"", &plaintext);
        assert_eq!(opened(&keys(), &sealed[PREFIX_LEN..]).unwrap(), plaintext, "{last}");
    }
}

#[test]
fn the_same_content_as_in_another_buffer() {
    let plaintext = data(CHUNK_LEN);
    let around = 4_095..=4_097;
    for len in (0..=1_100).chain(around).chain(CHUNK_LEN - 1..=CHUNK_LEN) {
        let mut sealed = vec![0; len + TAG_LEN];
        keys().seal_chunk(7, &plaintext[..len], &mut sealed);
        let mut expected = vec![0; len];
        keys().open_chunk(7, &sealed, &mut expected).unwrap();
        for shift in SHIFTS {
            let to = 33;
            let before = [&vec![0xa5; to + shift], &sealed[..], &[0xa5; 70]].concat();
            let place = to + shift..to + shift + sealed.len();
            let with = |before: &[u8], content: &[u8]| {
                let mut after = before.to_vec();
                after[to..][..len].copy_from_slice(content);
                after
            };

            let mut buffer = before.clone();
            assert_eq!(keys().open_chunk_within(7, &mut buffer, place.clone(), to), Ok(len));
            assert!(buffer == with(&before, &expected), "{len}, {shift}");

            let mut buffer = before.clone();
            let other = keys().open_chunk_within(8, &mut buffer, place.clone(), to);
            assert_eq!(other, Err(AuthenticationFailed));
            assert!(buffer == with(&before, &vec![0; len]), "nothing leaves: {len}, {shift}");

            // In the tag, and in the content if there is any.
            for changed in [place.start, place.end - 1] {
                let mut before = before.clone();
                before[changed] ^= 1 << (len % 8);
                let mut buffer = before.clone();
                let outcome = keys().open_chunk_within(7, &mut buffer, place.clone(), to);
                assert_eq!(outcome, Err(AuthenticationFailed));
                assert!(buffer == with(&before, &vec![0; len]), "nothing leaves: {len}, {shift}");
            }
        }
    }
}

#[test]
fn a_run_of_content_becomes_chunks() {
    for (full, gap) in [(1, 16), (1, 17), (48, 48 * TAG_LEN), (48, 48 * TAG_LEN + 24), (3, 20_000)]
    {
        let plaintext = data(full * CHUNK_LEN);
        let expected = seal_with_salt(&key(), &[9; SALT_LEN], b"", &plaintext);
        let mut buffer = [&vec![0xa5; gap], &plaintext[..], &[0xa5; 70]].concat();
        let mut sealer = ChunkSealer::new(seal_keys(&[9; SALT_LEN]));
        for i in 0..full {
            let place = i * SEALED_CHUNK_LEN..gap + (i + 1) * CHUNK_LEN;
            sealer.seal_within(&mut buffer[place]).unwrap();
        }
        let sealed = full * SEALED_CHUNK_LEN;
        assert!(buffer[..sealed] == expected[PREFIX_LEN..][..sealed], "{full}, {gap}");
        assert!(buffer[gap + plaintext.len()..] == [0xa5; 70], "{full}, {gap}");
    }
}

#[test]
#[should_panic(expected = "room for the tag")]
fn a_place_without_room_for_the_tag_is_refused() {
    let _ =
        ChunkSealer::new(seal_keys(&[9; SALT_LEN])).seal_within(&mut vec![0; SEALED_CHUNK_LEN - 1]);
}

#[test]
fn places_that_cannot_be_leave_the_buffer_as_it_was() {
    let mut before = vec![0xa5; 300];
    keys().seal_chunk(0, &data(84), &mut before[100..200]);
    for (index, start, end, to) in [
        (0, 100, 200, 101),
        (0, 100, 200, 300),
        (0, 100, 200, usize::MAX),
        (0, 100, 301, 0),
        (0, 100, usize::MAX, 0),
        (0, usize::MAX - 20, usize::MAX, usize::MAX - 20),
        (0, 100, 115, 100),
        (0, 100, 100, 100),
        (0, 200, 100, 100),
        (0, 200, 100, 0),
        (MAX_CHUNKS, 100, 200, 100),
    ] {
        let mut buffer = before.clone();
        let outcome = keys().open_chunk_within(index, &mut buffer, Range { start, end }, to);
        assert_eq!(outcome, Err(AuthenticationFailed), "{index}, {start}..{end}, {to}");
        assert_eq!(buffer, before, "{index}, {start}..{end}, {to}");
    }
    assert_eq!(keys().open_chunk_within(0, &mut before, 100..200, 100), Ok(84));
    assert_eq!(before[100..184], data(84));
}
