//! Runs all vectors of docs/spec/codec.md and docs/spec/frame.md.

use std::fs;
use std::path::{Path, PathBuf};

use endseal_codec::{Codec, DecodeError, Limits};
use serde_json::Value;

use crate::{live, stored, with_message};

/// Returns all vectors of a folder. Fails if there are fewer than `at_least`.
pub(crate) fn all(folder: &str, at_least: usize) -> Vec<(PathBuf, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(folder);
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let vector = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (path, vector)
    };
    let mut vectors: Vec<_> = fs::read_dir(path).unwrap().map(read).collect();
    vectors.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(vectors.len() >= at_least, "{} vectors in {folder}", vectors.len());
    vectors
}

pub(crate) fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

pub(crate) fn limits(vector: &Value) -> Limits {
    let maximum = vector["maximum"].as_u64();
    maximum.map_or_else(Limits::default, |maximum| {
        Limits::with_maximum(maximum.try_into().unwrap()).unwrap()
    })
}

#[test]
fn codec_vectors() {
    for (path, vector) in all("codec", 120) {
        let class = with_message!(vector["message"].as_str().unwrap(), M => codec::<M>(&vector));
        let class = class.map_or_else(DecodeError::class, |()| "ok");
        assert_eq!(Some(class), vector["expect"].as_str(), "{}", path.display());
    }
}

fn codec<M: Codec>(vector: &Value) -> Result<(), DecodeError> {
    let (bytes, limits) = (hex(&vector["hex"]), limits(vector));
    let view = M::view(&bytes, limits);
    let owned = M::decode(&bytes, limits);
    assert_eq!(view.err(), owned.as_ref().err().copied(), "owned and borrowed agree");
    let owned = owned?;
    let encoded = owned.to_vec(Limits::default()).unwrap();
    if vector["canonical"] == true {
        assert_eq!(encoded, bytes);
    }
    let again = M::decode(&encoded, Limits::default()).unwrap();
    assert_eq!(again, owned, "{}", vector["comment"]);
    Ok(())
}

#[test]
fn frame_vectors() {
    for (path, vector) in all("frame", 60) {
        let class = match vector["form"].as_str() {
            Some("live") => live::vector(&vector),
            Some("stored") => stored::vector(&vector),
            other => panic!("form {other:?}"),
        };
        let class = class.map_or_else(|error| error.class(), |()| "ok");
        assert_eq!(Some(class), vector["expect"].as_str(), "{}", path.display());
    }
}
