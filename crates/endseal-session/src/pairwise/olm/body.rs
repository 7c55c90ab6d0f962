//! Strict decoding of Olm messages.
//!
//! The library decodes protobuf as usual: fields in any order, numbers of any length, unknown
//! fields skipped. It verifies the MAC over its own encoding, so one message would have many valid
//! forms. Only the form that is written is accepted here.

use crate::fields::Fields;
use crate::message::SessionTag;

const VERSION: u8 = 3;
const MAC_LEN: usize = 8;
const BLOCK_LEN: usize = 16;

/// A ratchet message: `03 || 0a 20 ratchet key || 10 chain index || 22 length ciphertext || MAC`.
pub(super) struct RatchetHeader<'a> {
    pub(super) ratchet_key: &'a [u8; 32],
    /// Number of the message in its chain.
    pub(super) index: u64,
}

impl<'a> RatchetHeader<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        expect(&mut fields, [VERSION])?;
        expect(&mut fields, [0x0a, 32])?;
        let ratchet_key = fields.array()?;
        expect(&mut fields, [0x10])?;
        let index = varint(&mut fields)?;
        expect(&mut fields, [0x22])?;
        let len = usize::try_from(varint(&mut fields)?).ok()?;
        let whole = len > 0 && len % BLOCK_LEN == 0;
        let is_all = whole && fields.rest().len().checked_sub(MAC_LEN)? == len;
        is_all.then_some(Self { ratchet_key, index })
    }
}

/// A pre-key message: `03 || 0a 20 one-time key || 12 20 base key || 1a 20 identity key || 22
/// length ratchet message`.
pub(super) struct PrekeyHeader<'a> {
    pub(super) one_time_key: &'a [u8; 32],
    pub(super) base_key: &'a [u8; 32],
    pub(super) identity_key: &'a [u8; 32],
    pub(super) message: &'a [u8],
}

impl<'a> PrekeyHeader<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        expect(&mut fields, [VERSION])?;
        expect(&mut fields, [0x0a, 32])?;
        let one_time_key = fields.array()?;
        expect(&mut fields, [0x12, 32])?;
        let base_key = fields.array()?;
        expect(&mut fields, [0x1a, 32])?;
        let identity_key = fields.array()?;
        expect(&mut fields, [0x22])?;
        let len = usize::try_from(varint(&mut fields)?).ok()?;
        let message = fields.rest();
        (message.len() == len).then_some(Self { one_time_key, base_key, identity_key, message })
    }

    pub(super) fn tag(&self) -> SessionTag {
        SessionTag::of_keys(self.identity_key, self.base_key, self.one_time_key)
    }
}

fn expect<const N: usize>(fields: &mut Fields<'_>, expected: [u8; N]) -> Option<()> {
    (fields.array::<N>()? == &expected).then_some(())
}

/// Reads a 64-bit number, which must be in its shortest form.
fn varint(fields: &mut Fields<'_>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = fields.byte()?;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return (byte != 0 || shift == 0).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form() {
        let read = |bytes: &[u8]| {
            let mut fields = Fields::new(bytes);
            varint(&mut fields).filter(|_| fields.rest().is_empty())
        };
        assert_eq!(read(&[0]), Some(0));
        assert_eq!(read(&[0x7f]), Some(127));
        assert_eq!(read(&[0x80, 1]), Some(128));
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(read(&most), Some(u64::MAX));
        for wrong in [&[][..], &[0x80], &[0x80, 0], &[0xff, 0x80, 0], &[0xff; 11]] {
            assert_eq!(read(wrong), None, "{wrong:x?}");
        }
        let mut beyond = most;
        beyond[9] = 2;
        assert_eq!(read(&beyond), None);
    }
}
