//! Fuzz targets of messages between devices, and of session files.

use endseal_keyring::device::{Certificate, PrekeyBundle};
use endseal_session::group::{Evidence, GroupHeader, MembershipState};
use endseal_session::{FileRecord, FileRecordError, FileRecords, Message};

use endseal_store::hazmat;

use crate::choice;

/// Fuzzes messages: each has exactly one encoding.
pub fn session_message(data: &[u8]) {
    if let Ok(message) = Message::parse(data) {
        assert_eq!(message.to_bytes().expect("it was read").as_slice(), data);
        assert_eq!(message.encoded_len(), data.len());
    }
}

/// Fuzzes certificates: each has exactly one encoding.
pub fn certificate(data: &[u8]) {
    if let Ok(certificate) = Certificate::from_bytes(data) {
        assert_eq!(certificate.as_bytes()[..], *data);
    }
}

/// Fuzzes bundles: each has exactly one encoding.
pub fn bundle(data: &[u8]) {
    if let Ok(bundle) = PrekeyBundle::from_bytes(data) {
        assert_eq!(bundle.as_bytes()[..], *data);
    }
}

/// Fuzzes group messages: the group id in an accepted header has 1 to 63 bytes and is part of the
/// message.
pub fn mls_header(data: &[u8]) {
    if let Some(header) = GroupHeader::parse(data) {
        assert!((1..=63).contains(&header.id.len()));
        assert!(data.windows(header.id.len()).any(|window| window == header.id));
    }
}

/// Fuzzes states of conversations, evidence and notes: each has exactly one encoding, and a state
/// has its own devices.
pub fn conversation(data: &[u8]) {
    let (kind, data) = choice(data);
    match kind % 3 {
        0 => {
            if let Ok(state) = MembershipState::from_bytes(data) {
                assert_eq!(state.to_bytes(), data);
                assert!(state.devices().all(|device| state.has_device(&device)));
            }
        }
        1 => {
            if let Ok(evidence) = Evidence::from_bytes(data) {
                assert_eq!(evidence.to_bytes().expect("it was read"), data);
            }
        }
        _ => {
            if let Some(header) = GroupHeader::parse(data) {
                assert!((1..=63).contains(&header.id.len()));
            }
        }
    }
}

type Records = (Vec<Vec<u8>>, Option<FileRecordError>);

/// Reads records, and returns them as they are written, with the way in which the file ended.
fn records(file: &[u8], piece: usize) -> Records {
    let (mut parser, mut records) = (FileRecords::new(), Vec::new());
    let (mut from, mut to) = (0, 0);
    loop {
        let mut rest = &file[from..to];
        loop {
            match parser.next(&mut rest) {
                Ok(Some(record)) => records.push(written(&record)),
                Ok(None) => break,
                Err(error) => return (records, Some(error)),
            }
        }
        if to == file.len() {
            return (records, parser.finish(rest).err());
        }
        from = to - rest.len();
        to = file.len().min(to + piece);
    }
}

fn written(record: &FileRecord<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    record.write_to(&mut out).expect("it was read");
    out
}

/// Fuzzes session files: records must not depend on how the file is cut, and are written as they
/// were read.
pub fn session_file(data: &[u8]) {
    let (size, data) = choice(data);
    let whole = records(data, data.len().max(1));
    assert_eq!(records(data, size + 1), whole);
    let (records, end) = whole;
    let written = [FileRecord::HEADER.to_vec(), records.concat()].concat();
    if end.is_none() {
        assert_eq!(written, data);
    } else if !records.is_empty() {
        assert!(data.starts_with(&written));
    }
}

/// Fuzzes rows of the store with several messages: each has exactly one encoding.
pub fn store_packs(data: &[u8]) {
    let (first, pack) = choice(data);
    if let Some(written) = hazmat::rewrite_inbox_pack(first as u64, pack) {
        assert_eq!(written, pack);
    }
    if let Some(written) = hazmat::rewrite_recent_pack(pack) {
        assert_eq!(written, pack);
    }
}
