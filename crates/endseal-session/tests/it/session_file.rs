//! Runs all vectors of docs/spec/session-file.md, and tests properties that vectors cannot express.

use std::fs;
use std::path::Path;

use endseal_keyring::device::{Address, DeviceId};
use endseal_session::{FileRecord, FileRecordError, FileRecords, FileRoute};
use endseal_testing::hex;
use serde_json::Value;

use crate::device::identity;

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn class(error: FileRecordError) -> &'static str {
    match error {
        FileRecordError::Device => "device",
        FileRecordError::Group => "group",
        FileRecordError::Header => "header",
        FileRecordError::Key => "key",
        FileRecordError::Kind => "kind",
        FileRecordError::Length => "length",
        FileRecordError::Truncated => "truncated",
        FileRecordError::Version => "version",
        other => panic!("{other}"),
    }
}

fn address(address: Address) -> String {
    hex(address.identity.as_bytes()) + &hex(&address.device.number().to_le_bytes())
}

/// Kind, id, sender, recipient and message of each record, and the final result.
type Reading = (Vec<[String; 5]>, Result<(), FileRecordError>);

/// Reads a file in steps of `piece` bytes.
fn read(file: &[u8], piece: usize) -> Reading {
    let (mut parser, mut records) = (FileRecords::new(), Vec::new());
    let (mut from, mut to) = (0, 0);
    loop {
        let mut rest = &file[from..to];
        let outcome = loop {
            match parser.next(&mut rest) {
                Ok(Some(record)) => records.push(fields(&record)),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if outcome.is_err() {
            return (records, outcome);
        }
        if to == file.len() {
            return (records, parser.finish(rest));
        }
        from = to - rest.len();
        to = file.len().min(to + piece);
    }
}

fn fields(record: &FileRecord<'_>) -> [String; 5] {
    let (kind, sender, recipient) = match record.route {
        FileRoute::Group(id) => ("2", hex(id), "-".to_owned()),
        FileRoute::Welcome { sender, recipient } => ("3", address(sender), address(recipient)),
        _ => panic!("another route"),
    };
    [kind.to_owned(), hex(record.id), sender, recipient, hex(record.body)]
}

#[test]
fn session_file_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/session-file");
    let mut count = 0;
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let text = |field: &str| vector[field].as_str().unwrap();
        let file = unhex(text("file"));
        let (records, outcome) = read(&file, usize::MAX >> 1);
        assert_eq!(outcome.map_or_else(class, |()| "ok"), text("expect"), "{}", path.display());
        assert_eq!(Some(records.len() as u64), vector["records"].as_u64(), "{}", path.display());
        for (i, field) in ["kinds", "ids", "senders", "recipients", "messages"].iter().enumerate() {
            let list: Vec<_> = records.iter().map(|record| record[i].clone()).collect();
            assert_eq!(list.join(" "), text(field), "{field} of {}", path.display());
        }
        for piece in [1, 2, 7, 64] {
            assert_eq!(read(&file, piece), (records.clone(), outcome), "{}", path.display());
        }
        if outcome.is_ok() {
            assert_eq!(written(&file), file, "{}", path.display());
        }
        count += 1;
    }
    assert!(count >= 33, "{count} vectors");
}

/// Encodes the records of a file again.
fn written(file: &[u8]) -> Vec<u8> {
    let (mut parser, mut rest) = (FileRecords::new(), file);
    let mut out = FileRecord::HEADER.to_vec();
    while let Some(record) = parser.next(&mut rest).unwrap() {
        assert_eq!(*record.id, FileRecord::id_of(record.body));
        record.write_to(&mut out).unwrap();
    }
    out
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let mut out = Vec::new();
    let long = vec![0; (1 << 20) + 1];
    for (group, body, error) in [
        (&[][..], &b"m"[..], FileRecordError::Group),
        (&[0; 64], b"m", FileRecordError::Group),
        (b"g", b"", FileRecordError::Length),
        (b"g", &long, FileRecordError::Length),
    ] {
        let record = FileRecord { id: &[0; 16], route: FileRoute::Group(group), body };
        assert_eq!(record.write_to(&mut out), Err(error));
        assert!(out.is_empty());
    }
    let record = FileRecord { id: &[0; 16], route: FileRoute::Group(b"g"), body: &long[1..] };
    record.write_to(&mut out).unwrap();
    assert_eq!(out.len(), 1 + 16 + 2 + 4 + (1 << 20));
    let address =
        Address { identity: *identity(1).public_key(), device: DeviceId::new(1).unwrap() };
    let route = FileRoute::Welcome { sender: address, recipient: address };
    let long = vec![0; (1 << 24) + 1];
    let mut out = Vec::new();
    for (body, error) in [(&long[..], FileRecordError::Length), (b"", FileRecordError::Length)] {
        assert_eq!(FileRecord { id: &[0; 16], route, body }.write_to(&mut out), Err(error));
        assert!(out.is_empty());
    }
    FileRecord { id: &[0; 16], route, body: &long[1..] }.write_to(&mut out).unwrap();
    assert_eq!(out.len(), FileRecord::MAX_LEN);
}
