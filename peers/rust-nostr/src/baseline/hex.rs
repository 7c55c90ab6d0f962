//! Hexadecimal strings, lower case.

/// Returns `bytes` in hexadecimal.
pub(super) fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::new();
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Decodes a hexadecimal string with letters of either case.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).ok_or("not hexadecimal");
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err("an odd number of digits".into());
    }
    let mut bytes = Vec::new();
    for [high, low] in pairs {
        let value = digit(*high)? << 4 | digit(*low)?;
        bytes.push(u8::try_from(value).map_err(|error| error.to_string())?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        assert_eq!(encode(&[0, 0x9a, 0xff]), "009aff");
        assert_eq!(decode("009AfF").unwrap(), [0, 0x9a, 0xff]);
        assert!(decode("0").is_err() && decode("0g").is_err() && decode("+1").is_err());
    }
}
