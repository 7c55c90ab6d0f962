//! What is sealed end to end opens to the same, kept or not.

use endseal_codec::{Codec, DecodeError, Limits, Message, OpenError, Scheme, Sealed};

use crate::random::Random;

/// Seals nothing: the codec takes any cipher.
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
            // Too long for a frame.
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
