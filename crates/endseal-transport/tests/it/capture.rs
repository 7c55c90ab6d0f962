//! View of an observer of a handshake: anyone can derive the keys of Initial packets (RFC 9001,
//! 5.2), which carry ClientHello and ServerHello.

use rustls::Side;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{Keys, Version};

use endseal_transport::Policy;

use crate::pair::{Pair, limits};
use crate::proxy::{Proxy, Weather};

const SUPPORTED_GROUPS: u16 = 10;
const SIGNATURE_ALGORITHMS: u16 = 13;
const ALPN: u16 = 16;
const CLIENT_CERTIFICATE_TYPE: u16 = 19;
const SERVER_CERTIFICATE_TYPE: u16 = 20;
const KEY_SHARE: u16 = 51;
const SERVER_NAME: u16 = 0;
const EARLY_DATA: u16 = 42;

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_offers_and_takes_the_policy_alone() {
    for policy in [Policy::Hybrid, Policy::MlKem768Only] {
        let pair = Pair::new(policy, limits());
        let proxy = Proxy::new(pair.address(), Weather::default(), 1).await;
        let (asked, _taken) = pair.connect(proxy.address()).await;
        let seen = proxy.take_seen();
        let first = seen.iter().find(|(from_client, _)| *from_client).unwrap();
        // The keys are derived from the id that the client chose for the server in its first
        // packet.
        let destination = first.1[6..][..usize::from(first.1[5])].to_vec();

        let client = handshake_message(&seen, true, &destination);
        let group = asked.handshake().group.number.to_be_bytes();
        assert_eq!(client[0], 1, "ClientHello");
        let extensions = extensions(&client, true);
        let extension = |kind| extensions.iter().find(|(k, _)| *k == kind).map(|(_, v)| &v[..]);
        assert_eq!(extension(SUPPORTED_GROUPS).unwrap(), [&[0, 2], &group[..]].concat());
        let share = extension(KEY_SHARE).unwrap();
        assert_eq!(share[2..4], group);
        let share_len = if policy == Policy::Hybrid { 1216 } else { 1184 };
        assert_eq!(share.len(), 2 + 2 + 2 + share_len, "one share, and no other");
        assert_eq!(extension(SIGNATURE_ALGORITHMS).unwrap(), [0, 2, 0x09, 0x05]);
        // RawPublicKey (RFC 7250) is the only entry.
        assert_eq!(extension(CLIENT_CERTIFICATE_TYPE).unwrap(), [1, 2]);
        assert_eq!(extension(SERVER_CERTIFICATE_TYPE).unwrap(), [1, 2]);
        assert_eq!(extension(ALPN).unwrap(), b"\x00\x0a\x09endseal/1");
        assert_eq!(extension(SERVER_NAME), None, "an observer must not learn the peer's name");
        assert_eq!(extension(EARLY_DATA), None);

        let server = handshake_message(&seen, false, &destination);
        assert_eq!(server[0], 2, "ServerHello");
        let extensions = self::extensions(&server, false);
        let share = &extensions.iter().find(|(kind, _)| *kind == KEY_SHARE).unwrap().1;
        assert_eq!(share[..2], group);
    }
    assert_eq!(Policy::Hybrid.group().number, 0x11ec);
}

/// Returns the first handshake message that one side sent in Initial packets.
fn handshake_message(seen: &[(bool, Vec<u8>)], from_client: bool, destination: &[u8]) -> Vec<u8> {
    let mut stream: Vec<Option<u8>> = Vec::new();
    for (_, datagram) in seen.iter().filter(|(from, _)| *from == from_client) {
        for (offset, data) in crypto_frames(datagram, from_client, destination) {
            stream.resize(stream.len().max(offset + data.len()), None);
            for (place, byte) in stream[offset..].iter_mut().zip(data) {
                *place = Some(byte);
            }
        }
    }
    let stream: Vec<u8> = stream.into_iter().map_while(|byte| byte).collect();
    let length = usize::from(stream[2]) << 8 | usize::from(stream[3]);
    stream[..4 + length].to_vec()
}

/// Returns the CRYPTO frames of the Initial packets of a datagram (RFC 9000, 17.2.2 and 19.6).
fn crypto_frames(datagram: &[u8], from_client: bool, destination: &[u8]) -> Vec<(usize, Vec<u8>)> {
    // The receiver of a packet holds its key as that of the other side.
    let side = if from_client { Side::Server } else { Side::Client };
    let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
    let algorithm = suite.quic.unwrap();
    let keys = Keys::initial(Version::V1, suite, algorithm, destination, side);
    let mut frames = Vec::new();
    let mut rest = datagram.to_vec();
    // Long header, type Initial; the bit 0x40 is random (RFC 9287). Other packets may follow.
    while rest.len() > 7 && rest[0] & 0xb0 == 0x80 {
        let mut at = 5;
        at += 1 + usize::from(rest[at]);
        at += 1 + usize::from(rest[at]);
        let token = varint(&rest, &mut at);
        at += token;
        let length = varint(&rest, &mut at);
        let next = rest.split_off(at + length);
        let mut packet = std::mem::replace(&mut rest, next);
        let sample = packet[at + 4..][..keys.remote.header.sample_len()].to_vec();
        let (first, tail) = packet.split_at_mut(1);
        keys.remote
            .header
            .decrypt_in_place(&sample, &mut first[0], &mut tail[at - 1..at + 3])
            .unwrap();
        let number_len = usize::from(packet[0] & 3) + 1;
        let number = packet[at..at + number_len]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let (header, payload) = packet.split_at_mut(at + number_len);
        let payload = keys.remote.packet.decrypt_in_place(number, header, payload).unwrap();
        frames.extend(crypto_frames_of(payload));
    }
    frames
}

fn crypto_frames_of(payload: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let (mut at, mut frames) = (0, Vec::new());
    while at < payload.len() {
        let kind = payload[at];
        at += 1;
        match kind {
            0 | 1 => {} // PADDING, PING
            2 | 3 => {
                // ACK: largest, delay, number of further ranges, first range.
                let (_, _, ranges) =
                    (varint(payload, &mut at), varint(payload, &mut at), varint(payload, &mut at));
                varint(payload, &mut at);
                for _ in 0..2 * ranges {
                    varint(payload, &mut at);
                }
                if kind == 3 {
                    for _ in 0..3 {
                        varint(payload, &mut at);
                    }
                }
            }
            6 => {
                let offset = varint(payload, &mut at);
                let length = varint(payload, &mut at);
                frames.push((offset, payload[at..at + length].to_vec()));
                at += length;
            }
            other => panic!("frame {other:#x} in an Initial packet"),
        }
    }
    frames
}

/// Reads a variable-length integer (RFC 9000, 16).
fn varint(bytes: &[u8], at: &mut usize) -> usize {
    let len = 1 << (bytes[*at] >> 6);
    let mut value = usize::from(bytes[*at] & 0x3f);
    for byte in &bytes[*at + 1..*at + len] {
        value = value << 8 | usize::from(*byte);
    }
    *at += len;
    value
}

/// Returns the extensions of a ClientHello or ServerHello (RFC 8446, 4.1).
fn extensions(message: &[u8], of_client: bool) -> Vec<(u16, Vec<u8>)> {
    let mut at = 4 + 2 + 32;
    at += 1 + usize::from(message[at]);
    if of_client {
        at += 2 + usize::from(u16_at(message, at));
        at += 1 + usize::from(message[at]);
    } else {
        at += 3;
    }
    let end = at + 2 + usize::from(u16_at(message, at));
    at += 2;
    let mut extensions = Vec::new();
    while at < end {
        let (kind, length) = (u16_at(message, at), usize::from(u16_at(message, at + 2)));
        extensions.push((kind, message[at + 4..at + 4 + length].to_vec()));
        at += 4 + length;
    }
    extensions
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
