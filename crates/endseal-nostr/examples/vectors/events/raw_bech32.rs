//! Bech32 (BIP-173) of any values, also of those that no encoder should write.

const CHARSET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

fn polymod(values: &[u8]) -> u32 {
    values.iter().fold(1, |code: u32, value| {
        let top = code >> 25;
        let code = (code & 0x01ff_ffff) << 5 ^ u32::from(*value);
        let generators = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        generators.iter().enumerate().fold(code, |code, (i, generator)| {
            if top >> i & 1 == 1 { code ^ generator } else { code }
        })
    })
}

/// Encodes values below 32. The checksum is valid if `constant` is 1.
pub(super) fn from_values(prefix: &str, values: &[u8], constant: u32) -> String {
    let mut all: Vec<u8> = prefix.bytes().map(|byte| byte >> 5).chain([0]).collect();
    all.extend(prefix.bytes().map(|byte| byte & 31));
    all.extend(values);
    all.extend([0; 6]);
    let code = polymod(&all) ^ constant;
    let checksum = (0..6).rev().map(|i| (code >> (5 * i) & 31) as u8);
    let characters = values.iter().copied().chain(checksum);
    let characters = characters.map(|value| char::from(CHARSET[usize::from(value)]));
    format!("{prefix}1{}", characters.collect::<String>())
}

/// Splits bytes into values; the last one is filled up with zeros.
pub(super) fn values(data: &[u8]) -> Vec<u8> {
    let bits: Vec<u8> =
        data.iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1)).collect();
    let value = |bits: &[u8]| (0..5).fold(0, |value, i| value << 1 | bits.get(i).unwrap_or(&0));
    bits.chunks(5).map(value).collect()
}

/// Encodes bytes as valid text.
pub(super) fn encode(prefix: &str, data: &[u8]) -> String {
    from_values(prefix, &values(data), 1)
}
