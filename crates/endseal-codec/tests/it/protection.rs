//! Messages that are sealed end to end open to the same message, whether they were stored or not.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use endseal_codec::{
    Body, Codec, Content, DecodeError, Limits, Message, OpenError, RichMessage, Scheme, Sealed,
};

use crate::random::Random;

/// A cipher that encrypts nothing: the codec accepts any function.
fn toy(plaintext: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    out.push(0x5e);
    out.extend(plaintext.iter().map(|byte| byte ^ 0x55));
    Ok(())
}

fn toy_open(ciphertext: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let (first, rest) = ciphertext.split_first().ok_or("empty")?;
    if *first != 0x5e {
        return Err("changed");
    }
    out.extend(rest.iter().map(|byte| byte ^ 0x55));
    Ok(())
}

#[test]
fn a_payload_opens_to_what_its_copy_opens_to() {
    let limits = Limits::default();
    let mut random = Random::new(9);
    for _ in 0..200 {
        let message = random.message();
        let Ok(sealed) = Sealed::seal_with(Scheme::PAIRWISE, b"team", &message, limits, toy) else {
            // The message is too long for a frame.
            continue;
        };
        let payload = sealed.as_message().to_vec(limits).unwrap();
        let kept = Sealed::<Message>::decode(&payload, limits).unwrap();
        let kept = kept.open_with(limits, |context, ciphertext, out| {
            assert_eq!(context, b"team");
            toy_open(ciphertext, out)
        });
        let read =
            Sealed::<Message>::open_payload(&payload, limits, |scheme, context, text, out| {
                assert_eq!((scheme, context), (Scheme::PAIRWISE, &b"team"[..]));
                toy_open(text, out)
            });
        assert_eq!(read, Ok(message));
        assert_eq!(read, kept);
    }
}

#[test]
fn what_is_wrong_with_a_payload_is_told_apart() {
    let limits = Limits::default();
    let open = |payload: &[u8]| {
        Sealed::<Message>::open_payload(payload, limits, |_, _, text, out| toy_open(text, out))
    };
    let sealed =
        |text: &[u8]| [&[0x08, 0x02, 0x1a, u8::try_from(text.len()).unwrap()], text].concat();
    assert_eq!(open(&[]), Err(OpenError::Sealed(DecodeError::Missing)));
    assert_eq!(open(&sealed(&[1])), Err(OpenError::Open("changed")));
    assert_eq!(open(&sealed(&[0x5e])), Err(OpenError::Decode(DecodeError::Missing)));
}

const MARK: &[u8] = b"a text that is to be read by two";

/// Counts the marks in this process's memory at that address, except those that cross the end of a
/// page. It allocates nothing, because an allocation could overwrite the memory.
fn marks_at((address, len): (usize, usize)) -> usize {
    let memory = File::open("/proc/self/mem").unwrap();
    let mut page = [0; 4_096];
    let pages = (address..address + len).step_by(page.len()).map(|at| {
        let part = &mut page[..(address + len - at).min(4_096)];
        memory.read_exact_at(part, at as u64).unwrap();
        part.windows(MARK.len()).filter(|window| *window == MARK).count()
    });
    pages.sum()
}

/// Returns address and length of the bytes.
fn place(bytes: &[u8]) -> (usize, usize) {
    (bytes.as_ptr() as usize, bytes.len())
}

#[test]
fn the_plaintext_is_wiped_behind_the_encryption() {
    const MANY: usize = 900;
    let limits = Limits::default();
    let text = String::from_utf8(MARK.repeat(1_000)).unwrap();
    let rich = RichMessage {
        id: [1; 16],
        conversation: (*b"team").into(),
        sender: [2; 32],
        body: Some(Body::Text(text.into())),
        ..RichMessage::default()
    };
    let message = Message::from(Content::Rich(rich));

    let mut sealing = (0, 0);
    let sealed = Sealed::seal_with(Scheme::PAIRWISE, b"team", &message, limits, |plain, out| {
        sealing = place(plain);
        // The search finds the plaintext while it exists.
        assert!(marks_at(sealing) > MANY);
        toy(plain, out)
    });
    assert_eq!(marks_at(sealing), 0);

    let sealed = sealed.unwrap();
    let payload = sealed.as_message().to_vec(limits).unwrap();
    for fails in [false, true] {
        let (mut first, mut second) = ((0, 0), (0, 0));
        // Allocations after it keep the allocator from returning the memory to the system.
        let mut behind = Vec::new();
        let mut open = |ciphertext: &[u8], out: &mut Vec<u8>, seen: &mut (usize, usize)| {
            let room = (out.as_ptr(), out.capacity());
            toy_open(ciphertext, out)?;
            assert_eq!(room, (out.as_ptr(), out.capacity()), "it is not moved");
            *seen = place(out);
            assert!(marks_at(*seen) > MANY);
            behind.push(vec![3_u8; 64]);
            if fails { Err("changed") } else { Ok(()) }
        };
        let kept = sealed.open_with(limits, |_, text, out| open(text, out, &mut first));
        assert_eq!(marks_at(first), 0);
        let read = Sealed::<Message>::open_payload(&payload, limits, |_, _, text, out| {
            open(text, out, &mut second)
        });
        assert_eq!(marks_at(second), 0);
        let expected = if fails { Err(OpenError::Open("changed")) } else { Ok(message.clone()) };
        assert_eq!((&kept, &read), (&expected, &expected));
    }
}
