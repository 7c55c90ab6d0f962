use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters from none to several vectors of each kernel, and the ends of their loops.
const GROUPS: [usize; 9] = [1, 2, 7, 8, 9, 10, 16, 17, 40];

fn encoded(data: &[u8]) -> String {
    let mut out = vec![b'#'; encoded_len(data.len()) + 3];
    let text = String::from(encode(data, &mut out).unwrap());
    assert!(out.ends_with(b"###"), "nothing is written behind the text");
    text
}

fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = text.to_vec();
    if let Ok(len) = decode_in_place(&mut buffer) {
        buffer.truncate(len);
        return Some(buffer);
    }
    assert!(buffer.iter().all(|&byte| byte == 0), "a refused buffer is wiped");
    None
}

fn data(len: usize) -> Vec<u8> {
    (0..).take(len).map(|i: u32| i.wrapping_mul(0x9e37_79b9).to_be_bytes()[0]).collect()
}

/// The text by RFC 4648's definition, 6 bits after 6 bits.
fn slowly_encoded(data: &[u8]) -> Vec<u8> {
    let mut text = vec![];
    for group in data.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | usize::from(*group.get(i).unwrap_or(&0)));
        for i in 0..4 {
            let digit = ALPHABET[bits >> (18 - 6 * i) & 63];
            text.push(if i <= group.len() { digit } else { b'=' });
        }
    }
    text
}

/// The test vectors of RFC 4648, section 10.
#[test]
fn published_vectors_come_out() {
    let cases: [(&str, &str); 7] = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ];
    for (data, text) in cases {
        assert_eq!(encoded(data.as_bytes()), text);
        assert_eq!(decoded(text.as_bytes()).unwrap(), data.as_bytes());
    }
}

#[test]
fn any_data_comes_back() {
    for len in 0..300 {
        let data = data(len);
        let text = encoded(&data);
        assert_eq!(text.as_bytes(), slowly_encoded(&data), "{len}");
        assert_eq!(decoded(text.as_bytes()).unwrap(), data, "{len}");
    }
}

#[test]
fn every_digit_stands_for_its_bits() {
    let text: Vec<u8> = ALPHABET.repeat(3);
    let data = decoded(&text).unwrap();
    assert_eq!(slowly_encoded(&data), text);
    assert_eq!(encoded(&data).as_bytes(), text);
}

#[test]
fn pieces_give_the_text_of_the_whole() {
    let data = data(500);
    for size in [3, 48, 96, 192] {
        let mut text = vec![0; encoded_len(data.len())];
        let mut at = 0;
        for piece in data.chunks(size) {
            at += encode(piece, &mut text[at..]).unwrap().len();
        }
        assert_eq!(text, slowly_encoded(&data), "{size}");
    }
}

#[test]
fn every_wrong_byte_at_every_place_is_refused() {
    let wrong = (0..=255_u8).filter(|byte| !ALPHABET.contains(byte));
    let wrong: Vec<u8> = wrong.collect();
    assert_eq!(wrong.len(), 192);
    for groups in GROUPS {
        let text = slowly_encoded(&data(3 * groups));
        for at in 0..text.len() {
            for &byte in &wrong {
                // One `=` at the end is another text, unless it leaves bits over.
                if byte == b'=' && at + 1 == text.len() {
                    continue;
                }
                let mut text = text.clone();
                text[at] = byte;
                assert_eq!(decoded(&text), None, "{at} of {groups}: {byte:#x}");
            }
        }
    }
}

/// All endings of a group: that many are what `encode` writes, and the others are refused.
#[test]
fn only_canonical_endings_are_accepted() {
    let symbols = [&ALPHABET[..], b"="].concat();
    for groups in [0, 1, 8, 20] {
        let head = slowly_encoded(&data(3 * groups));
        let (mut one, mut two) = (0, 0);
        for &third in &symbols {
            for &second in &symbols {
                let text = [&head[..], &[b'A', second, third, b'=']].concat();
                if let Some(data) = decoded(&text) {
                    assert_eq!(encoded(&data).as_bytes(), text);
                    *if third == b'=' { &mut one } else { &mut two } += 1;
                }
            }
        }
        // The first digit is fixed: of one byte 2 bits are left, of two bytes 10.
        assert_eq!((one, two), (1 << 2, 1 << 10), "{groups}");
        for ending in ["A===", "====", "=AAA", "A=AA", "AA=A", "AAA=AAAA", "AA==AAAA", "AA==="] {
            assert_eq!(decoded(&[&head[..], ending.as_bytes()].concat()), None, "{ending}");
        }
    }
}

#[test]
fn other_lengths_and_blanks_are_refused() {
    let text = slowly_encoded(&data(60));
    for len in 0..=text.len() {
        assert_eq!(decoded(&text[..len]).is_some(), len % 4 == 0, "{len}");
    }
    for text in ["Zg", "Zg=", "Zm9v\n", "Zm9v\r\n", " Zm9v", "Zm9v    ", "Zm 9v", "Zm9v====", "Zm8"]
    {
        assert_eq!(decoded(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn a_small_buffer_is_left_alone() {
    for len in 1..100 {
        let data = data(len);
        let mut out = vec![b'#'; encoded_len(len) - 1];
        assert_eq!(encode(&data, &mut out), Err(BufferTooSmall));
        assert!(out.iter().all(|&byte| byte == b'#'));
    }
    assert_eq!(encoded_len(0), 0);
    assert_eq!(encoded_len(isize::MAX.unsigned_abs()), isize::MAX.unsigned_abs().div_ceil(3) * 4);
    assert_eq!(encoded_len(usize::MAX), usize::MAX);
}
