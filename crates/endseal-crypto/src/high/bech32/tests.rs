use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;

/// Data part and checksum of `data`, which is encoded in two pieces.
fn encoded(variant: Variant, case: Case, data: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut encoder = Encoder::new(variant, case, "test", |c| text.push(c));
    let (first, second) = data.split_at(data.len() / 3);
    encoder.put(first);
    encoder.put(second);
    encoder.finish();
    let prefix: &[u8] = if case == Case::Upper { b"TEST1" } else { b"test1" };
    text.strip_prefix(prefix).unwrap().to_vec()
}

fn decoded(
    variant: Variant,
    case: Case,
    prefix: &str,
    data: &[u8],
) -> Result<Vec<u8>, DecodeError> {
    let mut out = vec![0xee; data.len().saturating_sub(CHECKSUM_LEN) * 5 / 8];
    let decoded = decode(variant, case, prefix, data, &mut out);
    if decoded.is_err() {
        assert!(out.iter().all(|byte| *byte == 0), "a refused text leaves nothing");
    }
    decoded.map(|()| out)
}

/// Decodes a whole text, in the case of its letters.
fn decoded_text(variant: Variant, text: &str) -> Result<Vec<u8>, DecodeError> {
    let (prefix, data) = text.rsplit_once('1').unwrap();
    let is_upper = text.bytes().any(|c| c.is_ascii_uppercase());
    let case = if is_upper { Case::Upper } else { Case::Lower };
    decoded(variant, case, prefix, data.as_bytes())
}

/// Valid strings of BIP-173 and BIP-350 whose data are whole bytes.
#[test]
fn published_strings_are_accepted() {
    let long =
        "an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber1";
    for (variant, text, len) in [
        (Variant::Bech32, "A12UEL5L", 0),
        (Variant::Bech32, "a12uel5l", 0),
        (Variant::Bech32, "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", 20),
        (Variant::Bech32, "?1ezyfcl", 0),
        (Variant::Bech32m, "A1LQFN3A", 0),
        (Variant::Bech32m, "a1lqfn3a", 0),
        (Variant::Bech32m, &[long, "1sg7hg6"].concat(), 0),
        (Variant::Bech32m, "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx", 20),
        (Variant::Bech32m, "split1checkupstagehandshakeupstreamerranterredcaperredlc445v", 30),
        (Variant::Bech32m, "?1v759aa", 0),
    ] {
        let data = decoded_text(variant, text).unwrap();
        assert_eq!(data.len(), len, "{text}");
        let (prefix, _) = text.rsplit_once('1').unwrap();
        let mut again = String::new();
        let put = |c| again.push(char::from(c));
        let mut encoder = Encoder::new(variant, Case::Lower, &prefix.to_lowercase(), put);
        encoder.put(&data);
        encoder.finish();
        assert_eq!(again, text.to_lowercase());
        let other = [Variant::Bech32, Variant::Bech32m][usize::from(variant == Variant::Bech32)];
        assert_eq!(decoded_text(other, text), Err(DecodeError::Checksum));
    }
    let data = decoded_text(Variant::Bech32, "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw");
    assert_eq!(data.unwrap()[..5], [0x00, 0x44, 0x32, 0x14, 0xc7]);
    // 82 times 31: two bits beyond 51 bytes are set. The checksum is compared before them.
    let ones = ["11", &"l".repeat(82), "ludsr8"].concat();
    assert_eq!(decoded_text(Variant::Bech32m, &ones), Err(DecodeError::Padding));
}

/// Invalid strings of BIP-350 whose fault is not in the prefix.
#[test]
fn published_faults_are_refused() {
    for (text, error) in [
        ("y1b0jsk6g", DecodeError::Character(0)),
        ("lt1igcx5c0", DecodeError::Character(0)),
        ("in1muywd", DecodeError::Length),
        ("mm1crxm3i", DecodeError::Character(5)),
        ("au1s5cgom", DecodeError::Character(4)),
        ("M1VUXWEZ", DecodeError::Checksum),
    ] {
        assert_eq!(decoded_text(Variant::Bech32m, text), Err(error), "{text}");
    }
    let too_long = decode(Variant::Bech32, Case::Lower, "a", b"2uel5l", &mut [0]);
    assert_eq!(too_long, Err(DecodeError::Length));
}

#[test]
fn every_character_is_that_of_the_alphabet() {
    for case in [Case::Lower, Case::Upper] {
        let of_case = |c: u8| match case {
            Case::Lower => c.to_ascii_lowercase(),
            Case::Upper => c.to_ascii_uppercase(),
        };
        for (i, c) in (0..32).zip(ALPHABET) {
            assert_eq!(character(i, case), of_case(*c));
        }
        for c in 0..=255_u8 {
            let found = ALPHABET.iter().position(|of| of_case(*of) == c);
            let (value, valid) = value(c, case);
            assert_eq!((valid != 0).then_some(usize::from(value)), found, "{c}");
            assert_eq!(case.allows(c), c.is_ascii_alphanumeric() && of_case(c) == c, "{c}");
        }
    }
}

#[test]
fn all_lengths_are_read_as_they_were_written() {
    for len in 0..100_u8 {
        let data: Vec<u8> = (0..len).map(|i| i.wrapping_mul(37) ^ len).collect();
        for variant in [Variant::Bech32, Variant::Bech32m] {
            for case in [Case::Lower, Case::Upper] {
                let text = encoded(variant, case, &data);
                assert_eq!(text.len(), data_len(data.len()));
                assert_eq!(decoded(variant, case, "test", &text).as_ref(), Ok(&data));
                assert_eq!(decoded(variant, case, "TEST", &text).as_ref(), Ok(&data));
            }
        }
    }
}

#[test]
fn one_wrong_character_is_found() {
    let good = encoded(Variant::Bech32m, Case::Lower, &[0xa5; 20]);
    let decoded = |prefix, text: &[u8]| decoded(Variant::Bech32m, Case::Lower, prefix, text);
    for at in 0..good.len() {
        for &c in ALPHABET.iter().chain(b"1bioQ\n\x80") {
            let mut bad = good.clone();
            bad[at] = c;
            let expected = if c == good[at] {
                Ok(vec![0xa5; 20])
            } else if ALPHABET.contains(&c) {
                Err(DecodeError::Checksum)
            } else {
                Err(DecodeError::Character(at))
            };
            assert_eq!(decoded("test", &bad), expected);
        }
    }
    assert_eq!(decoded("tess", &good), Err(DecodeError::Checksum));
}

#[test]
fn padding_is_zero_and_shorter_than_a_character() {
    // Valid checksums over values that are not whole bytes.
    let with_values = |values: &[u8]| {
        let mut text = Vec::new();
        let mut encoder = Encoder::new(Variant::Bech32, Case::Lower, "a", |c| text.push(c));
        values.iter().for_each(|value| encoder.put_value(*value));
        encoder.finish();
        decoded(Variant::Bech32, Case::Lower, "a", &text[2..])
    };
    assert_eq!(with_values(&[31, 28]), Ok(vec![0xff]));
    for values in [&[31, 29][..], &[31, 30], &[0], &[0, 0, 0], &[0; 6]] {
        assert_eq!(with_values(values), Err(DecodeError::Padding), "{values:?}");
    }
}
