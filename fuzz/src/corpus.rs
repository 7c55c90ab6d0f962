//! Inputs of the fuzz targets: those that come from the test vectors, and those that a fuzzer found
//! and that were kept.
//!
//! The kept inputs of a target are one file, `corpus/<target>`. It has the length (`u32`, little
//! endian) and the bytes of each input, so that thousands of inputs need only a few files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the kept inputs of a target; none if it has no file.
///
/// # Errors
/// Fails if the file cannot be read, and with [`io::ErrorKind::InvalidData`] if it is not of this
/// form.
pub fn kept(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let bytes = match fs::read(folder().join("corpus").join(target)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut inputs = Vec::new();
    let mut rest = &bytes[..];
    while let Some((len, after)) = rest.split_first_chunk() {
        let len = u32::from_le_bytes(*len) as usize;
        let (input, after) = after.split_at_checked(len).ok_or(io::ErrorKind::InvalidData)?;
        inputs.push(input.to_vec());
        rest = after;
    }
    if rest.is_empty() { Ok(inputs) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Keeps the files of `from` as the inputs of a target, except those that come from the vectors.
/// Returns the number of kept inputs.
///
/// # Errors
/// Fails if an input cannot be read or the file of kept inputs cannot be written.
pub fn keep(target: &str, from: &Path) -> io::Result<usize> {
    let seeds = seeds(target)?;
    let mut inputs = Vec::new();
    for entry in fs::read_dir(from)? {
        let input = fs::read(entry?.path())?;
        if !seeds.contains(&input) {
            inputs.push(input);
        }
    }
    inputs.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let mut bytes = Vec::new();
    for input in &inputs {
        let len = u32::try_from(input.len()).map_err(|_| io::ErrorKind::InvalidData)?;
        bytes.extend_from_slice(&len.to_le_bytes());
        bytes.extend_from_slice(input);
    }
    fs::create_dir_all(folder().join("corpus"))?;
    fs::write(folder().join("corpus").join(target), bytes)?;
    Ok(inputs.len())
}

/// Writes all inputs of a target to files in `to`, as libFuzzer reads them. Returns their number.
///
/// # Errors
/// Fails if the inputs cannot be read or a file cannot be written.
pub fn unpack(target: &str, to: &Path) -> io::Result<usize> {
    fs::create_dir_all(to)?;
    let inputs = [seeds(target)?, kept(target)?].concat();
    for (i, input) in inputs.iter().enumerate() {
        fs::write(to.join(format!("kept-{i:05}")), input)?;
    }
    Ok(inputs.len())
}

/// Rule that makes the inputs of a target from a field of the vectors of a folder.
struct Source {
    folder: &'static str,
    field: &'static str,
    /// Prefixes of each input, which the target reads as its choice.
    choices: &'static [&'static [u8]],
}

const fn source(
    folder: &'static str,
    field: &'static str,
    choices: &'static [&'static [u8]],
) -> Source {
    Source { folder, field, choices }
}

const PLAIN: &[&[u8]] = &[b""];
/// Inputs that the target seals: suites 1 to 3, unchanged and with one edit.
const SEALED: [&[u8]; 6] = [
    b"\x01at noon",
    b"\x03at noon",
    b"\x05at noon",
    b"\x11\x40\x00\x01\x00at noon",
    b"\x13\x60\x00\x01\x00at noon",
    b"\x15\x80\x00\x01\x00at noon",
];

/// Actions of `nostr_policy` at 1,000 or 5,000: a note, a log-in, a decryption, a rumor.
const ACTIONS: [&[u8]; 5] = [
    b"\x02\x00\x01\x00\0\xe8\x03\0\0\0\0\0\0",
    b"\x02\x00\x01\x00\0\x88\x13\0\0\0\0\0\0",
    b"\x02\x00\xe2\x56\x05\xe8\x03\0\0\0\0\0\0",
    b"\x02\x04\x00\x00\x01\xe8\x03\0\0\0\0\0\0",
    b"\x02\x05\x0e\x00\0\xe8\x03\0\0\0\0\0\0",
];

fn sources(target: &str) -> Vec<Source> {
    match target {
        "codec_view_vs_owned_vs_prost" => vec![source("codec", "hex", PLAIN)],
        "live_reader_splits" => vec![source("frame", "hex", &[b"\x05"])],
        "stored_frame" => vec![source("frame", "hex", PLAIN)],
        "envelope_open" => vec![source("envelope", "envelope", &[b"\x00"])],
        "envelope_stream_vs_whole" => vec![source("envelope", "envelope", &[b"\x07\x00"])],
        "address_book" | "identity_file" | "identity_text" => {
            vec![source("identity", "input", PLAIN)]
        }
        "key_ring" => vec![source("s3-key-ring", "file", PLAIN)],
        "s3_object_header" => vec![source("s3-object", "header", PLAIN)],
        "nostr_connect" => vec![source("nostr-events", "input", &[b"\x00", b"\x01"])],
        "nostr_entity" => vec![source("nostr-events", "input", PLAIN)],
        "nostr_event" => vec![source("nostr-events", "input", &[b"\x00"])],
        "nostr_encrypted_key" => vec![source("nostr", "text", &[b"\x00"])],
        "nostr_nip04" => vec![
            source("nostr", "content", &[b"\x00"]),
            source("nostr", "plaintext", &[b"\x01sixteen bytes iv"]),
        ],
        "nostr_payload" | "nostr_payload_vs_rust_nostr" => vec![
            source("nostr", "payload", &[b"\x00"]),
            // Once and five times; then with the right padding, changed at both ends, shorter, and
            // longer.
            source("nostr", "plaintext", &[b"\x01", b"\x11", b"\x03\0\0\0\0\0"]),
            source("nostr", "plaintext", &[b"\x03\x01\0\x01\0\0", b"\x03\0\x01\x01\0\0"]),
            source("nostr", "plaintext", &[b"\x03\0\0\0\x01\0", b"\x03\0\0\0\x10\xff"]),
        ],
        "nostr_policy" => vec![
            source("nostr-connect", "input", &[b"\x00", b"\x01"]),
            source("nostr-connect", "rules", &ACTIONS),
        ],
        "nostr_session" => vec![
            source("nostr-connect", "event", &[b"\x00", b"\x04"]),
            source("nostr-connect", "input", &[b"\x01"]),
            // Requests of each method: allowed, denied, by NIP-04.
            source("nostr-events", "input", &[b"\x05", b"\x01", b"\x02"]),
        ],
        "nostr_unwrap" => vec![
            source("nostr", "wrap", &[b"\x00"]),
            source("nostr", "rumor", &[b"\x01", b"\x02", b"\x03", b"\x05", b"\x2f"]),
        ],
        "roster" => vec![source("roster", "roster", PLAIN)],
        "bundle" => vec![source("session", "bundle", PLAIN)],
        "certificate" => vec![source("session", "certificate", PLAIN)],
        "conversation" => vec![
            source("conversation", "state", &[b"\x00"]),
            source("conversation", "evidence", &[b"\x01"]),
            source("conversation", "note", &[b"\x02"]),
        ],
        "session_message" => vec![source("session", "message", PLAIN)],
        "session_file" => vec![source("session-file", "file", &[b"\x06"])],
        "transfer" => vec![source("transfer", "frames", &[b"\x06"])],
        "transport_prefix" => vec![source("transport", "bytes", PLAIN)],
        _ => Vec::new(),
    }
}

/// Returns the inputs of a target that come from the test vectors, and a few that are built here.
///
/// # Errors
/// Fails if a vector cannot be read, and with [`io::ErrorKind::InvalidData`] if it is not JSON.
pub fn seeds(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let mut inputs = made(target);
    for source in sources(target) {
        let folder = folder().join("../vectors").join(source.folder);
        let mut paths = fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|it| it == "json")) {
            let vector: Value = serde_json::from_slice(&fs::read(path)?)?;
            // A file contains one scenario, or a list of them.
            for case in vector.as_array().map_or(slice::from_ref(&vector), Vec::as_slice) {
                if let Some(bytes) = bytes_of(&case[source.field]) {
                    let inputs_of = |choice: &&[u8]| [*choice, &bytes[..]].concat();
                    inputs.extend(source.choices.iter().map(inputs_of));
                }
            }
        }
    }
    Ok(inputs)
}

fn made(target: &str) -> Vec<Vec<u8>> {
    match target {
        "envelope_open" => SEALED.map(<[u8]>::to_vec).to_vec(),
        "envelope_stream_vs_whole" => SEALED.map(|it| [b"\x03", it].concat()).to_vec(),
        "kernel_vs_dalek" => {
            [1, 2, 9, 17].map(|n| (0..32 * (n + 1)).map(|i| i as u8).collect()).to_vec()
        }
        "gcm_in_place_vs_aws_lc" => {
            [0, 1, 15, 16, 255, 256, 511, 512, 513, 1100].map(|n| vec![7; 56 + n]).to_vec()
        }
        "mls_header" => {
            let header = b"\0\x01\0\x02\x02id\0\0\0\0\0\0\0\x05\x01\0\x03abc\x04wxyz";
            vec![header.to_vec(), [&header[..15], b"\x03\0\x03abc\x04wxyz"].concat()]
        }
        "nostr_encrypted_key" => crate::nostr_encrypted_key::inputs(),
        "nostr_payload_vs_rust_nostr" => crate::nostr_encryption::inputs(),
        "nostr_session" => vec![crate::nostr_session::batch()],
        "nostr_unwrap" => crate::nostr_gift_wrap::inputs(),
        "s3_authorization" => crate::s3::signed_requests(),
        "s3_aws_chunked" => crate::s3::uploads(),
        "s3_requests" => crate::s3_requests::STREAMS.map(|it| it.as_bytes().to_vec()).to_vec(),
        "s3_xml" => crate::s3::DOCUMENTS.map(|it| it.as_bytes().to_vec()).to_vec(),
        "store_packs" => {
            let one = b"\x05\x02\x01\x02\0\x02id\x04text";
            let two = [&one[..], b"\0\x01i\0", b"\x01\x07\x01i\x01t"].concat();
            let marks = [&b"\x05\x01\x02id"[..], &[9; 16], b"\x80\x01\x01i", &[8; 16]].concat();
            vec![one.to_vec(), two, marks]
        }
        _ => Vec::new(),
    }
}

/// Returns the bytes of a field: hexadecimal digits are decoded, other text is kept, and lists are
/// concatenated.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    if let Some(list) = value.as_array() {
        return Some(list.iter().filter_map(bytes_of).collect::<Vec<_>>().concat());
    }
    let text = value.as_str()?;
    let digits = text.as_bytes().as_chunks::<2>();
    let bytes = digits
        .0
        .iter()
        .map(|pair| str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    let all: Option<Vec<u8>> = bytes.collect();
    Some(all.filter(|_| digits.1.is_empty()).unwrap_or_else(|| text.as_bytes().to_vec()))
}
