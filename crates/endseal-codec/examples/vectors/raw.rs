//! Encodings that are built by hand, right and wrong ones.

/// Returns a varint in its shortest form.
pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
    out
}

pub(crate) fn tag(number: u64, wire: u64) -> Vec<u8> {
    varint(number << 3 | wire)
}

/// Returns a field of wire type 0.
pub(crate) fn number(field: u64, value: u64) -> Vec<u8> {
    [tag(field, 0), varint(value)].concat()
}

/// Returns a field of wire type 2.
pub(crate) fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [tag(field, 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Returns a `Typing` with its required fields.
pub(crate) fn typing() -> Vec<u8> {
    [bytes(1, "c"), bytes(2, [2; 32])].concat()
}

/// Returns a `RichMessage` with its required fields.
pub(crate) fn rich() -> Vec<u8> {
    [bytes(1, [1; 16]), bytes(2, "c"), bytes(3, [3; 32])].concat()
}

/// Returns a `Message` with that content, and with more fields after its required ones.
pub(crate) fn rich_message(more: &[Vec<u8>]) -> Vec<u8> {
    bytes(1, [rich(), more.concat()].concat())
}

pub(crate) fn reaction() -> Vec<u8> {
    [bytes(1, [4; 32]), bytes(2, "+")].concat()
}

pub(crate) fn attachment() -> Vec<u8> {
    [bytes(1, "a"), bytes(4, "")].concat()
}

pub(crate) fn entry(key: &str) -> Vec<u8> {
    [bytes(1, key), bytes(2, "v")].concat()
}
