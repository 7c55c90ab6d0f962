//! Random and nearly valid input may be refused, but must neither panic nor take memory.

use endseal_s3_protocol::aws_chunked::{Form, Limits};
use endseal_s3_protocol::sigv4::Policy;
use endseal_testing::SplitMix64;

use super::published::{chunked_with_trailer, get_object, presigned};
use super::*;

fn mutate(numbers: &mut SplitMix64, bytes: &mut Vec<u8>, words: &[&[u8]]) {
    for _ in 0..=numbers.below(4) {
        let place = numbers.below(bytes.len() + 1);
        match numbers.below(4) {
            0 if place < bytes.len() => bytes[place] = numbers.next().to_le_bytes()[0],
            1 if place < bytes.len() => {
                let end = (place + numbers.below(20)).min(bytes.len());
                bytes.drain(place..end);
            }
            2 => {
                let word = words[numbers.below(words.len())];
                bytes.splice(place..place, word.iter().copied());
            }
            _ => {
                let end = (place + numbers.below(40)).min(bytes.len());
                let copy = bytes[place..end].to_vec();
                let place = numbers.below(bytes.len() + 1);
                bytes.splice(place..place, copy);
            }
        }
    }
}

#[test]
fn mutated_requests_are_never_let_in() {
    let words: [&[u8]; 10] =
        [b",", b"=", b"/", b";", b"%", b"&", b"Credential=", b"X-Amz-Date=", b"%2F", b"\xff"];
    let mut numbers = SplitMix64::new(1);
    let verifier = verifier();
    let mut refused = 0;
    for round in 0..40_000 {
        let mut request = if round % 2 == 0 { get_object() } else { presigned() };
        if round % 2 == 0 {
            let mut header = request.headers["authorization"].as_bytes().to_vec();
            mutate(&mut numbers, &mut header, &words);
            let Ok(value) = HeaderValue::from_bytes(&header) else { continue };
            request.headers.insert("authorization", value);
        } else {
            let mut target = request.target.clone().into_bytes();
            mutate(&mut numbers, &mut target, &words);
            let Ok(target) = String::from_utf8(target) else { continue };
            request.target = target;
        }
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (request.target.as_str(), None),
        };
        let signed =
            SignedRequest { method: &request.method, path, query, headers: &request.headers };
        match verifier.verify(signed, at(request.now)) {
            Err(error) => {
                refused += 1;
                assert!(!error.code().is_empty() && !error.to_string().contains(SECRET_KEY));
            }
            // A request whose target and authorization decode to the same values is the same
            // request.
            Ok(Access::Signed(_)) if round % 2 == 0 => {
                assert!(
                    request.headers["authorization"].to_str().unwrap().contains("f0e8bdb87c96")
                );
            }
            Ok(Access::Signed(_)) => assert!(request.target.contains("aeeed9bbccd4")),
            Ok(_) => assert!(!query.is_some_and(|it| it.contains("X-Amz-Signature="))),
        }
    }
    assert!(refused > 30_000, "{refused}");
}

#[test]
fn mutated_uploads_are_never_taken() {
    let words: [&[u8]; 7] = [
        b"\r\n",
        b"\n",
        b";chunk-signature=",
        b"0\r\n",
        b"ffffffffffffffff",
        b":",
        b"x-amz-trailer-signature:",
    ];
    let mut numbers = SplitMix64::new(2);
    let (request, body) = chunked_with_trailer();
    let payload = request.verify().unwrap().payload;
    // Both ends of the body; its middle is one repeated letter.
    let (head, tail) = (&body[..200], &body[body.len() - 400..]);
    for round in 0..20_000 {
        let mut input = if round % 2 == 0 { head.to_vec() } else { tail.to_vec() };
        mutate(&mut numbers, &mut input, &words);
        let limits = Limits::with_hold(numbers.next() % 100);
        let decoder = if numbers.below(2) == 0 {
            Decoder::of_request(&payload, &request.headers, limits).unwrap().unwrap()
        } else {
            Decoder::new(Form::Unsigned, 66_560, vec![], limits)
        };
        let cuts: Vec<usize> = (0..numbers.below(20)).map(|_| numbers.below(50)).collect();
        assert!(decode(decoder, &input, &cuts).is_err());
    }
}

/// An unsigned upload is protected only by its length and its trailer, which must hold.
#[test]
fn mutated_unsigned_uploads_keep_their_length() {
    let words: [&[u8]; 6] = [b"\r\n", b"\n", b"5\r\nabcde\r\n", b"0\r\n", b"fffffffffffff", b":"];
    let mut numbers = SplitMix64::new(4);
    let body = b"a\r\n0123456789\r\n1\r\nx\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
    let name = HeaderName::from_static("x-amz-checksum-crc32");
    let mut taken = 0;
    for _ in 0..40_000 {
        let mut input = body.to_vec();
        mutate(&mut numbers, &mut input, &words);
        let decoder = Decoder::new(Form::Unsigned, 11, vec![name.clone()], Limits::default());
        let cuts: Vec<usize> = (0..numbers.below(20)).map(|_| numbers.below(9)).collect();
        if let Ok((content, trailers)) = decode(decoder, &input, &cuts) {
            assert!(content.len() == 11 && trailers.len() == 1);
            taken += 1;
        }
    }
    assert!(taken > 100, "{taken}");
}

/// Whatever length a chunk declares, the decoder keeps no more than the limit and one push.
#[test]
fn a_long_chunk_in_single_bytes_stays_within_the_limit() {
    let (request, body) = chunked_with_trailer();
    let payload = request.verify().unwrap().payload;
    let limits = Limits::with_hold(5_000);
    let mut decoder = Decoder::of_request(&payload, &request.headers, limits).unwrap().unwrap();
    let (mut out, mut pushed, mut released) = (VecDeque::new(), 0_usize, 0);
    for byte in &body[..60_000] {
        decoder.push(Bytes::copy_from_slice(&[*byte]), &mut out).unwrap();
        pushed += 1;
        released += out.drain(..).map(|slice| slice.len()).sum::<usize>();
        assert!(pushed - released < 5_000 + 16_384 + 200, "{pushed} {released}");
    }
}

#[test]
fn random_policies_are_refused_or_read() {
    read_policies(4_000);
}

#[test]
#[ignore = "nightly: five times as many policies as by default"]
fn many_random_policies_are_refused_or_read() {
    read_policies(20_000);
}

fn read_policies(count: usize) {
    use base64ct::{Base64, Encoding as _};
    let words: [&[u8]; 8] =
        [b"\"", b"[", b"]", b"{", b"}", b",", b"1e999", b"\"content-length-range\""];
    let mut numbers = SplitMix64::new(3);
    for _ in 0..count {
        let mut policy = published::POLICY.as_bytes().to_vec();
        mutate(&mut numbers, &mut policy, &words);
        // Only the absence of a panic is tested; most inputs are refused.
        let _ = Policy::parse(&Base64::encode_string(&policy));
    }
}
