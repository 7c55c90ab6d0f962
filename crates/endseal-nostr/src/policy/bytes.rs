//! The bytes of a rule.
//!
//! ```text
//!  offset   size    field
//!  0        1       version, 1
//!  1        1       effect
//!  2        1       subject
//!  3        1       bound: 0 none, 1 peer, 2 scope
//!  4        2 + 2   first and last kind
//!  8        32      peer or digest of the scope
//!  40       4       number
//!  44       8       made
//!  52       8       expires
//!  60       4       uses in all
//!  64       4 + 4   uses in a window, its seconds
//!  72       4       used
//!  76       8 + 4   beginning of the window, used in it
//! ```

use super::rule::{Bound, Effect, Kinds, RULE_LEN, Rate, Rule, RuleError, Subject, Usage};

const VERSION: u8 = 1;
const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Deny, Effect::Ask];

impl Rule {
    /// The bytes of a rule, for which the caller MUST have found [`Rule::check`] right. Any other
    /// rule becomes zeros, which no reader takes: in bytes a limit of zero would be none.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; RULE_LEN] {
        let mut out = [0; RULE_LEN];
        if self.check().is_err() {
            return out;
        }
        let (bound, value) = match self.bound {
            Bound::None => (0, [0; 32]),
            Bound::Peer(peer) => (1, peer),
            Bound::Scope(scope) => (2, scope),
        };
        let rate = self.rate.unwrap_or(Rate { uses: 0, window: 0 });
        let mut rest = &mut out[..];
        let mut put = |bytes: &[u8]| {
            let (field, behind) = core::mem::take(&mut rest).split_at_mut(bytes.len());
            field.copy_from_slice(bytes);
            rest = behind;
        };
        put(&[VERSION, code(&EFFECTS, self.effect), code(&Subject::ALL, self.subject), bound]);
        put(&self.kinds.first.to_le_bytes());
        put(&self.kinds.last.to_le_bytes());
        put(&value);
        put(&self.number.to_le_bytes());
        put(&self.made.to_le_bytes());
        put(&self.expires.unwrap_or_default().to_le_bytes());
        put(&self.uses.unwrap_or_default().to_le_bytes());
        put(&rate.uses.to_le_bytes());
        put(&rate.window.to_le_bytes());
        put(&self.usage.used.to_le_bytes());
        put(&self.usage.window_begin.to_le_bytes());
        put(&self.usage.window_used.to_le_bytes());
        out
    }

    /// Parses the bytes of a rule.
    ///
    /// # Errors
    /// [`RuleError`], for all that [`Rule::to_bytes`] does not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields(bytes.first_chunk::<RULE_LEN>().ok_or(RuleError::Length)?);
        if bytes.len() != RULE_LEN {
            return Err(RuleError::Length);
        }
        let [version, effect, subject, bound] = fields.take()?;
        if version != VERSION {
            return Err(RuleError::Version);
        }
        let kinds = Kinds { first: fields.u16()?, last: fields.u16()? };
        let value = fields.take()?;
        let rule = Self {
            effect: decoded(&EFFECTS, effect)?,
            subject: decoded(&Subject::ALL, subject)?,
            kinds,
            bound: match bound {
                0 if value == [0; 32] => Bound::None,
                1 => Bound::Peer(value),
                2 => Bound::Scope(value),
                _ => return Err(RuleError::Value),
            },
            number: fields.u32()?,
            made: fields.u64()?,
            expires: Some(fields.u64()?).filter(|expires| *expires > 0),
            uses: Some(fields.u32()?).filter(|uses| *uses > 0),
            rate: match (fields.u32()?, fields.u32()?) {
                (0, 0) => None,
                (uses, window) => Some(Rate { uses, window }),
            },
            usage: Usage {
                used: fields.u32()?,
                window_begin: fields.u64()?,
                window_used: fields.u32()?,
            },
        };
        rule.check().map(|()| rule)
    }
}

/// Place in a list, from 1.
fn code<T: PartialEq>(all: &[T], value: T) -> u8 {
    all.iter().zip(1..).find(|(other, _)| **other == value).map_or(0, |(_, code)| code)
}

fn decoded<T: Copy>(all: &[T], code: u8) -> Result<T, RuleError> {
    let at = usize::from(code).checked_sub(1);
    at.and_then(|at| all.get(at)).copied().ok_or(RuleError::Value)
}

/// Fields that were not read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], RuleError> {
        let (field, behind) = self.0.split_first_chunk().ok_or(RuleError::Length)?;
        self.0 = behind;
        Ok(*field)
    }

    fn u16(&mut self) -> Result<u16, RuleError> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, RuleError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, RuleError> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::tests::{LOGIN, RULE};
    use super::*;

    const FULL: Rule = Rule {
        subject: Subject::Nip44Decrypt,
        kinds: Kinds::NONE,
        bound: Bound::Peer([0xee; 32]),
        number: 0x0102_0304,
        made: 0x0102_0304_0506_0708,
        expires: Some(0x1102_0304_0506_0708),
        uses: Some(0x2122_2324),
        rate: Some(Rate { uses: 0x3132_3334, window: 0x4142_4344 }),
        usage: Usage { used: 0x11, window_begin: 0x5152_5354_5556_5758, window_used: 0x10 },
        ..RULE
    };

    #[test]
    fn bytes_are_read_as_they_were_written() {
        for rule in [RULE, LOGIN, FULL, Rule { effect: Effect::Deny, ..RULE }] {
            let bytes = rule.to_bytes();
            assert_eq!(Rule::from_bytes(&bytes), Ok(rule));
        }
        let bytes = FULL.to_bytes();
        assert_eq!(bytes[..8], [1, 1, 5, 1, 0, 0, 0, 0]);
        assert_eq!(bytes[40..52], [4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[76..], [0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 0x10, 0, 0, 0]);
    }

    #[test]
    fn every_other_length_and_version_is_refused() {
        let mut long = [0; RULE_LEN + 1];
        long[..RULE_LEN].copy_from_slice(&FULL.to_bytes());
        for len in (0..=RULE_LEN + 1).filter(|len| *len != RULE_LEN) {
            assert_eq!(Rule::from_bytes(&long[..len]), Err(RuleError::Length), "{len}");
        }
        for version in (0..=u8::MAX).filter(|version| *version != 1) {
            long[0] = version;
            assert_eq!(Rule::from_bytes(&long[..RULE_LEN]), Err(RuleError::Version));
        }
    }

    #[test]
    fn an_accepted_rule_has_one_form() {
        // A changed byte has one of two results: the rule is refused, or it is written again as it
        // was.
        for rule in [RULE, LOGIN, FULL] {
            let bytes = rule.to_bytes();
            for at in 0..RULE_LEN {
                for byte in 0..=u8::MAX {
                    let mut changed = bytes;
                    changed[at] = byte;
                    if let Ok(rule) = Rule::from_bytes(&changed) {
                        assert_eq!(rule.to_bytes(), changed, "{byte:02x} at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_invalid_rule_is_written_as_none() {
        let bytes = Rule { uses: Some(0), ..RULE }.to_bytes();
        assert_eq!(bytes, [0; RULE_LEN]);
        assert_eq!(Rule::from_bytes(&bytes), Err(RuleError::Version));
    }
}
