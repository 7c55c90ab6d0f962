//! Chunked uploads: every split of the input, every flipped byte, and uploads that must be refused.

use endseal_s3_protocol::aws_chunked::{Form, Limits};
use endseal_s3_protocol::sigv4::{ChunkSigner, Payload, PayloadHash, Signer};
use endseal_testing::hex;

use super::published::{chunked, chunked_with_trailer, now};
use super::*;

const CRC: HeaderName = HeaderName::from_static("x-amz-checksum-crc32");

fn seed() -> ChunkSigner {
    let secret = SecretKey::new(SECRET_KEY.to_owned());
    let signer = Signer::new(ACCESS_KEY.into(), secret, "us-east-1".into());
    let mut headers = headers(&[("host", "localhost")]);
    let payload = PayloadHash::StreamingTrailer;
    match signer.sign("PUT", "/b/k", None, &mut headers, payload, at(now())).unwrap() {
        Payload::StreamingSigned { seed, trailer: true } => seed,
        payload => panic!("{payload:?}"),
    }
}

/// Encodes content in chunks of these lengths, signed if there is a signer.
fn encode(mut signer: Option<&mut ChunkSigner>, content: &[u8], lens: &[usize]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut rest = content;
    for len in lens.iter().chain([&0]) {
        let (chunk, behind) = rest.split_at(*len);
        rest = behind;
        body.extend_from_slice(format!("{len:x}").as_bytes());
        if let Some(signer) = &mut signer {
            let signature = signer.chunk(&endseal_crypto::sha256::digest(chunk));
            body.extend_from_slice(format!(";chunk-signature={}", hex(&signature)).as_bytes());
        }
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(chunk);
        if *len > 0 {
            body.extend_from_slice(b"\r\n");
        }
    }
    assert!(rest.is_empty());
    body
}

type MakeDecoder = Box<dyn Fn(Limits) -> Decoder>;

/// Returns the four forms of the same content, each with a decoder for it.
fn forms() -> Vec<(Vec<u8>, MakeDecoder)> {
    let content: Vec<u8> = (0..200_u8).collect();
    let lens = [1, 64, 100, 35];
    let mut signed = encode(Some(&mut seed()), &content, &lens);
    signed.extend_from_slice(b"\r\n");
    let mut signer = seed();
    let mut trailer = encode(Some(&mut signer), &content, &lens);
    let signature = hex(&signer.trailer(b"x-amz-checksum-crc32:AAAAAA==\n"));
    trailer.extend_from_slice(b"x-amz-checksum-crc32:AAAAAA==\r\n");
    trailer.extend_from_slice(format!("x-amz-trailer-signature:{signature}\r\n\r\n").as_bytes());
    let mut plain = encode(None, &content, &lens);
    let mut unsigned = plain.clone();
    plain.extend_from_slice(b"\r\n");
    unsigned.extend_from_slice(b"x-amz-checksum-crc32:AAAAAA==\r\n\r\n");
    vec![
        (signed, Box::new(|limits| Decoder::new(Form::Signed(seed()), 200, vec![], limits))),
        (
            trailer,
            Box::new(|limits| Decoder::new(Form::SignedTrailer(seed()), 200, vec![CRC], limits)),
        ),
        (unsigned, Box::new(|limits| Decoder::new(Form::Unsigned, 200, vec![CRC], limits))),
        (plain, Box::new(|limits| Decoder::new(Form::Unsigned, 200, vec![], limits))),
    ]
}

#[test]
fn every_cut_gives_the_same() {
    cut_twice(41);
}

#[test]
#[ignore = "nightly: second cuts that are closer to each other"]
fn many_pairs_of_cuts_give_the_same() {
    cut_twice(7);
}

/// Splits the input at each byte, and again at each `step`th byte after it.
fn cut_twice(step: usize) {
    let content: Vec<u8> = (0..200_u8).collect();
    for (body, decoder) in forms() {
        let whole = decode(decoder(Limits::default()), &body, &[]).unwrap();
        assert_eq!(whole.0, content);
        for first in 0..=body.len() {
            for hold in [1, 50, 1 << 20] {
                let limits = Limits::with_hold(hold);
                assert_eq!(decode(decoder(limits), &body, &[first]).unwrap(), whole);
            }
            for second in (0..body.len() - first).step_by(step) {
                let cuts = [first, second];
                assert_eq!(decode(decoder(Limits::default()), &body, &cuts).unwrap(), whole);
            }
        }
        for step in 1..100 {
            let cuts = vec![step; body.len() / step];
            assert_eq!(decode(decoder(Limits::with_hold(33)), &body, &cuts).unwrap(), whole);
        }
    }
}

#[test]
fn every_flipped_byte_of_a_signed_upload_is_found() {
    for (body, decoder) in forms().into_iter().take(2) {
        for place in 0..body.len() {
            for bit in [0x01, 0x20, 0x80] {
                let mut altered = body.clone();
                altered[place] ^= bit;
                match decode(decoder(Limits::default()), &altered, &[]) {
                    Err(_) => {}
                    // The case of hexadecimal digits and of names is not signed.
                    Ok((content, _)) => {
                        let digit = body[place].is_ascii_alphabetic() && bit == 0x20;
                        assert!(digit && content == (0..200_u8).collect::<Vec<_>>(), "{place}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_truncation_is_found() {
    for (body, decoder) in forms() {
        // The empty line after the end may be missing.
        for len in 0..body.len() - 2 {
            assert!(decode(decoder(Limits::default()), &body[..len], &[]).is_err(), "{len}");
        }
        assert!(decode(decoder(Limits::default()), &body[..body.len() - 2], &[]).is_ok());
        let half = decode(decoder(Limits::default()), &body[..body.len() - 1], &[]);
        assert_eq!(half, Err(ChunkError::Incomplete));
        let more = [&body[..], b"x"].concat();
        assert_eq!(decode(decoder(Limits::default()), &more, &[]), Err(ChunkError::TrailingBytes));
    }
}

#[test]
fn swapped_and_repeated_chunks_are_found() {
    let content = [[b'a'; 50], [b'b'; 50]].concat();
    let body = encode(Some(&mut seed()), &content, &[50, 50]);
    let one = "32;chunk-signature=".len() + 64 + 2 + 50 + 2;
    let decoder = |len| Decoder::new(Form::Signed(seed()), len, vec![], Limits::default());
    assert!(decode(decoder(100), &body, &[]).is_ok());
    let swapped = [&body[one..2 * one], &body[..one], &body[2 * one..]].concat();
    assert_eq!(decode(decoder(100), &swapped, &[]), Err(ChunkError::SignatureMismatch));
    let repeated = [&body[..one], &body[..one], &body[2 * one..]].concat();
    assert_eq!(decode(decoder(100), &repeated, &[]), Err(ChunkError::SignatureMismatch));
    let dropped = [&body[..one], &body[2 * one..]].concat();
    assert_eq!(decode(decoder(50), &dropped, &[]), Err(ChunkError::SignatureMismatch));
}

/// The content of a chunk longer than the limit is released early, but its end waits for the
/// signature.
#[test]
fn the_end_of_a_long_chunk_waits_for_its_signature() {
    let content = vec![b'x'; 100_000];
    let mut body = encode(Some(&mut seed()), &content, &[100_000]);
    let last = body.len() - 200;
    body[last] ^= 1;
    let limits = Limits::with_hold(10_000);
    let mut decoder = Decoder::new(Form::Signed(seed()), 100_000, vec![], limits);
    let (mut out, mut released, mut error) = (VecDeque::new(), 0, None);
    for piece in body.chunks(1_000) {
        if let Err(found) = decoder.push(Bytes::copy_from_slice(piece), &mut out) {
            error = Some(found);
            break;
        }
        released = out.iter().map(Bytes::len).sum();
    }
    assert_eq!(error, Some(ChunkError::SignatureMismatch));
    // The decoder keeps the limit, bytes that cannot be split (at most 16,384), and one piece.
    assert!((72_616..=90_000).contains(&released), "{released}");
    assert_eq!(out.iter().map(Bytes::len).sum::<usize>(), released);
    // After an error the decoder refuses everything.
    assert_eq!(decoder.push(Bytes::from_static(b"x"), &mut out), error.map_or(Ok(()), Err));
    assert_eq!(decoder.finish().err(), error);
}

/// Nothing of a chunk within the limit is released before its signature is verified.
#[test]
fn a_short_chunk_is_released_as_a_whole() {
    let body = encode(Some(&mut seed()), &[b'x'; 5_000], &[5_000]);
    let mut decoder = Decoder::new(Form::Signed(seed()), 5_000, vec![], Limits::default());
    let mut out = VecDeque::new();
    let head = 4 + 17 + 64 + 2;
    decoder.push(Bytes::copy_from_slice(&body[..head + 4_999]), &mut out).unwrap();
    assert!(out.is_empty());
    decoder.push(Bytes::copy_from_slice(&body[head + 4_999..=head + 4_999]), &mut out).unwrap();
    assert_eq!(out.iter().map(Bytes::len).sum::<usize>(), 5_000);
}

#[test]
fn content_is_not_copied() {
    let body = Bytes::from(encode(None, &[b'x'; 50_000], &[20_000, 30_000]));
    let mut decoder = Decoder::new(Form::Unsigned, 50_000, vec![], Limits::default());
    let mut out = VecDeque::new();
    decoder.push(body.clone(), &mut out).unwrap();
    let range = body.as_ptr_range();
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|slice| range.contains(&slice.as_ptr())));
    let body = Bytes::from(encode(Some(&mut seed()), &[b'x'; 50_000], &[20_000, 30_000]));
    let mut decoder = Decoder::new(Form::Signed(seed()), 50_000, vec![], Limits::default());
    let mut out = VecDeque::new();
    decoder.push(body.clone(), &mut out).unwrap();
    let range = body.as_ptr_range();
    assert!(out.iter().all(|slice| range.contains(&slice.as_ptr())));
}

#[test]
fn lengths_are_enforced() {
    let body = encode(None, b"0123456789", &[10]);
    for (len, error) in
        [(9, ChunkError::WrongLength), (11, ChunkError::WrongLength), (0, ChunkError::WrongLength)]
    {
        let decoder = Decoder::new(Form::Unsigned, len, vec![], Limits::default());
        assert_eq!(decode(decoder, &body, &[]), Err(error));
    }
    let huge = b"ffffffffffffffff\r\nx";
    let decoder = Decoder::new(Form::Unsigned, 10, vec![], Limits::default());
    assert_eq!(decode(decoder, huge, &[]), Err(ChunkError::WrongLength));
}

#[test]
fn malformed_lines_are_refused() {
    let signature = "0".repeat(64);
    let unsigned: &[&[u8]] = &[
        b"\r\n",
        b"x\r\n",
        b"-1\r\n",
        b"+1\r\n",
        b" 1\r\n",
        b"1 \r\n",
        b"1\n0\r\n",
        b"0x1\r\n",
        b"00000000000000001\r\n",
        b"1;a=b\r\nx\r\n",
        b"1\r\nxx\r\n",
        b"1\r\nx\n0\r\n",
        b"1\rx",
    ];
    for body in unsigned {
        let decoder = Decoder::new(Form::Unsigned, 1, vec![], Limits::default());
        let error = decode(decoder, body, &[]).err();
        let text = String::from_utf8_lossy(body);
        assert!(
            matches!(error, Some(ChunkError::MalformedChunk | ChunkError::Incomplete)),
            "{text}"
        );
    }
    for body in [
        "1\r\nx".to_owned(),
        format!("1;chunk-signature={}\r\n", &signature[1..]),
        format!("1;chunk-signatur={signature}\r\n"),
        format!("1;chunk-signature={signature};a\r\n"),
        format!("1;x=y;chunk-signature={signature}\r\n"),
    ] {
        let decoder = Decoder::new(Form::Signed(seed()), 1, vec![], Limits::default());
        assert_eq!(
            decode(decoder, body.as_bytes(), &[]),
            Err(ChunkError::MalformedChunk),
            "{body}"
        );
    }
    let endless = vec![b'0'; 10_000];
    let decoder = Decoder::new(Form::Unsigned, 1, vec![], Limits::default());
    assert_eq!(decode(decoder, &endless, &[5; 100]), Err(ChunkError::LineTooLong));
}

#[test]
fn trailers_are_those_announced() {
    let run = |announced: &[HeaderName], trailer: &str| {
        let decoder = Decoder::new(Form::Unsigned, 0, announced.to_vec(), Limits::default());
        decode(decoder, format!("0\r\n{trailer}").as_bytes(), &[]).map(|(_, trailers)| trailers)
    };
    let sha = HeaderName::from_static("x-amz-checksum-sha1");
    let good = run(&[CRC, sha.clone()], "x-amz-checksum-sha1: b \r\nX-AMZ-Checksum-CRC32:a\n\r\n");
    let good = good.unwrap();
    assert_eq!((good[CRC].as_bytes(), good[sha.clone()].as_bytes()), (&b"a"[..], &b"b"[..]));
    // Some clients end with an additional empty line.
    assert!(run(&[CRC], "x-amz-checksum-crc32:a\n\r\n\r\n").is_ok());
    assert!(run(&[], "").is_ok() && run(&[], "\r\n").is_ok());
    let long = format!("x-amz-checksum-crc32:{}\r\n\r\n", "a".repeat(5_000));
    for (announced, trailer, error) in [
        (&[][..], "x-amz-checksum-crc32:a\r\n\r\n", ChunkError::MalformedTrailer),
        (&[CRC], "x-amz-checksum-sha1:a\r\n\r\n", ChunkError::MalformedTrailer),
        (
            &[CRC],
            "x-amz-checksum-crc32:a\r\nx-amz-checksum-crc32:a\r\n\r\n",
            ChunkError::MalformedTrailer,
        ),
        (&[CRC], "\r\n", ChunkError::MalformedTrailer),
        (&[CRC], "", ChunkError::Incomplete),
        (&[CRC], "x-amz-checksum-crc32:a", ChunkError::Incomplete),
        (&[CRC], "x-amz-checksum-crc32\r\n\r\n", ChunkError::MalformedTrailer),
        (&[CRC], ":a\r\n\r\n", ChunkError::MalformedTrailer),
        (&[CRC], "x-amz-checksum-crc32:\u{1}\r\n\r\n", ChunkError::MalformedTrailer),
        (&[CRC], "x-amz-checksum-crc32:a\r\n\r\nx", ChunkError::TrailingBytes),
        (&[CRC], "x-amz-checksum-crc32:a\r\n\r\n\r\n\r\n", ChunkError::TrailingBytes),
        (&[CRC], &long, ChunkError::LineTooLong),
    ] {
        assert_eq!(run(announced, trailer), Err(error), "{trailer:.60}");
    }
}

#[test]
fn signed_trailers_are_checked() {
    let run = |announced: &[HeaderName], end: &dyn Fn(&mut ChunkSigner) -> String| {
        let mut signer = seed();
        let mut body = encode(Some(&mut signer), b"", &[]);
        body.extend_from_slice(end(&mut signer).as_bytes());
        let form = Form::SignedTrailer(seed());
        let decoder = Decoder::new(form, 0, announced.to_vec(), Limits::default());
        decode(decoder, &body, &[]).map(drop)
    };
    let of = |signer: &mut ChunkSigner, text: &str| hex(&signer.trailer(text.as_bytes()));
    let text = "x-amz-checksum-crc32:a\n";
    // The spelling of the documentation, and that of minio-go.
    for (between, end) in [("", "\r\n\r\n"), ("\r\n", "\r\n\r\n"), ("", "\r\n")] {
        let good = run(&[CRC], &|it| {
            format!("{text}{between}x-amz-trailer-signature:{}{end}", of(it, text))
        });
        assert_eq!(good, Ok(()), "{between:?} {end:?}");
    }
    let other = run(&[CRC], &|it| {
        format!("{text}x-amz-trailer-signature:{}\r\n\r\n", of(it, "x-amz-checksum-crc32:b\n"))
    });
    assert_eq!(other, Err(ChunkError::SignatureMismatch));
    let unsigned = run(&[CRC], &|_| format!("{text}\r\n"));
    assert_eq!(unsigned, Err(ChunkError::Incomplete));
    let blanks = run(&[CRC], &|_| format!("{text}\r\n\r\n"));
    assert_eq!(blanks, Err(ChunkError::MalformedTrailer));
    let missing = run(&[CRC], &|it| format!("x-amz-trailer-signature:{}\r\n\r\n", of(it, "")));
    assert_eq!(missing, Err(ChunkError::MalformedTrailer));
    let none = run(&[], &|it| format!("x-amz-trailer-signature:{}\r\n\r\n", of(it, "")));
    assert_eq!(none, Ok(()));
    let behind = run(&[CRC], &|it| format!("x-amz-trailer-signature:{}\r\n{text}\r\n", of(it, "")));
    assert!(behind.is_err());
    let short = run(&[], &|_| "x-amz-trailer-signature:00\r\n\r\n".to_owned());
    assert_eq!(short, Err(ChunkError::MalformedTrailer));
}

#[test]
fn requests_say_what_comes() {
    let (request, _) = chunked();
    let payload = request.verify().unwrap().payload;
    let of = |payload: &Payload, pairs: &[(&str, &str)]| {
        Decoder::of_request(payload, &headers(pairs), Limits::default()).map(|it| it.is_some())
    };
    assert_eq!(of(&payload, &[]), Err(ChunkError::MissingLength));
    for wrong in ["", "-1", "+1", "0x1", "99999999999999999999"] {
        let pairs = [("x-amz-decoded-content-length", wrong)];
        assert_eq!(of(&payload, &pairs), Err(ChunkError::MissingLength));
    }
    let length = ("x-amz-decoded-content-length", "1");
    assert_eq!(of(&payload, &[length, length]), Err(ChunkError::MissingLength));
    assert_eq!(of(&payload, &[length]), Ok(true));
    assert_eq!(of(&Payload::Unsigned, &[length]), Ok(false));
    let encoded = ("content-encoding", "gzip, AWS-Chunked");
    assert_eq!(of(&Payload::Unsigned, &[length, encoded]), Ok(true));
    let wrong = ("x-amz-trailer", "a b");
    assert_eq!(of(&payload, &[length, wrong]), Err(ChunkError::MalformedTrailer));
    use endseal_s3_protocol::aws_chunked::content_encoding;
    assert_eq!(content_encoding(&headers(&[encoded])).as_deref(), Some("gzip"));
    assert_eq!(content_encoding(&headers(&[("content-encoding", "aws-chunked")])), None);
    assert_eq!(content_encoding(&headers(&[("content-encoding", "br")])).as_deref(), Some("br"));
    let (request, _) = chunked_with_trailer();
    let verified = request.verify().unwrap();
    assert!(matches!(verified.payload, Payload::StreamingSigned { trailer: true, .. }));
}

/// A client that sends one byte in each chunk takes no more memory than it sends.
#[test]
fn the_content_of_tiny_chunks_shares_memory() {
    let content: Vec<u8> = (0..=250).cycle().take(40_000).collect();
    let lens = [vec![1; 30_000], vec![2; 2_000], vec![3_000, 3_000]].concat();
    let mut unsigned = encode(None, &content, &lens);
    let mut signed = encode(Some(&mut seed()), &content, &lens);
    unsigned.extend_from_slice(b"\r\n");
    signed.extend_from_slice(b"\r\n");
    for (form, body, most) in
        [(Form::Unsigned, unsigned, Some(8)), (Form::Signed(seed()), signed, None)]
    {
        let mut decoder = Decoder::new(form, 40_000, vec![], Limits::default());
        let mut out = VecDeque::new();
        decoder.push(Bytes::from(body), &mut out).unwrap();
        assert_eq!(out.iter().flatten().copied().collect::<Vec<_>>(), content);
        // Each signed chunk is released separately, after its signature was verified.
        assert!(most.is_none_or(|most| out.len() <= most), "{}", out.len());
        let follows = |pair: &[&Bytes]| pair[0].as_ptr_range().end == pair[1].as_ptr();
        let slices: Vec<&Bytes> = out.iter().collect();
        let places = slices.windows(2).filter(|pair| !follows(pair)).count() + 1;
        assert!(places <= 5, "{places} places in memory");
        decoder.finish().unwrap();
    }
}
