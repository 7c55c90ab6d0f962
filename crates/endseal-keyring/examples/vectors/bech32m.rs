//! Bech32m, implemented again from BIP 350, which can also make errors on purpose.

const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Returns the text of a payload in lower case.
pub(crate) fn encode(prefix: &str, payload: &[u8]) -> String {
    encode_values(prefix, &values(payload), 0x2bc8_30a3)
}

/// Returns the text with the constant of Bech32 (BIP 173).
pub(crate) fn encode_without_m(prefix: &str, payload: &[u8]) -> String {
    encode_values(prefix, &values(payload), 1)
}

/// Returns the text with the last bit of padding set.
pub(crate) fn encode_with_padding(prefix: &str, payload: &[u8]) -> String {
    let mut values = values(payload);
    *values.last_mut().unwrap() |= 1;
    encode_values(prefix, &values, 0x2bc8_30a3)
}

fn values(payload: &[u8]) -> Vec<u8> {
    let bits: Vec<u8> =
        payload.iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1)).collect();
    bits.chunks(5)
        .map(|group| (0..5).fold(0, |v, i| v << 1 | group.get(i).copied().unwrap_or(0)))
        .collect()
}

fn encode_values(prefix: &str, values: &[u8], constant: u32) -> String {
    let expanded = prefix.bytes().map(|c| c >> 5).chain([0]).chain(prefix.bytes().map(|c| c & 31));
    let remainder = polymod(expanded.chain(values.iter().copied()).chain([0; 6])) ^ constant;
    let checksum = (0..6).map(|i| (remainder >> (5 * (5 - i)) & 31) as u8);
    let data = values.iter().copied().chain(checksum);
    let data: String = data.map(|v| char::from(ALPHABET[usize::from(v)])).collect();
    format!("{prefix}1{data}")
}

fn polymod(values: impl Iterator<Item = u8>) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.fold(1, |check, v| {
        let top = check >> 25;
        let check = (check & 0x01ff_ffff) << 5 ^ u32::from(v);
        (0..5).filter(|i| top >> i & 1 == 1).fold(check, |check, i| check ^ GENERATOR[i])
    })
}
