//! The digits that two people compare.

use core::fmt;

use endseal_crypto::ed25519;
use endseal_crypto::hash;
use endseal_crypto::label::SESSION_SAFETY_NUMBER;

/// 60 decimal digits of two identities (docs/spec/session.md, "Safety number"). Both people see the
/// same digits, and different ones if an attacker in the middle replaced an identity. About 2^100
/// attempts find an identity with the same half as a given one.
///
/// ```
/// # use endseal_crypto::ed25519::{Seed, SigningKey};
/// # use endseal_keyring::device::SafetyNumber;
/// let alice = *SigningKey::from_seed(Seed::from_bytes(&[1; 32])).public_key();
/// let bob = *SigningKey::from_seed(Seed::from_bytes(&[2; 32])).public_key();
/// assert_eq!(SafetyNumber::of(&alice, &bob), SafetyNumber::of(&bob, &alice));
/// assert_eq!(SafetyNumber::of(&alice, &bob).to_string().len(), 12 * 5 + 11);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SafetyNumber([u32; Self::GROUPS]);

impl SafetyNumber {
    /// Number of groups of five digits in the text.
    pub const GROUPS: usize = 12;

    /// The number of two identities, in whichever order.
    #[must_use]
    pub fn of(one: &ed25519::PublicKey, other: &ed25519::PublicKey) -> Self {
        let (first, second) = if one <= other { (one, other) } else { (other, one) };
        let mut groups = [0; Self::GROUPS];
        let (left, right) = groups.split_at_mut(Self::GROUPS / 2);
        left.copy_from_slice(&half(first));
        right.copy_from_slice(&half(second));
        Self(groups)
    }

    /// The groups, each below 100,000.
    #[must_use]
    pub fn groups(&self) -> &[u32; Self::GROUPS] {
        &self.0
    }
}

fn half(identity: &ed25519::PublicKey) -> [u32; SafetyNumber::GROUPS / 2] {
    let mut fingerprint = [0; 30];
    hash::derive_into(SESSION_SAFETY_NUMBER, &[identity.as_bytes()], &mut fingerprint);
    let mut numbers = fingerprint.chunks_exact(5).map(|bytes| {
        let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        u32::try_from(number % 100_000).unwrap_or_default()
    });
    core::array::from_fn(|_| numbers.next().unwrap_or_default())
}

/// The groups with leading zeros, separated by one space.
impl fmt::Display for SafetyNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, group) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { " " };
            write!(f, "{separator}{group:05}")?;
        }
        Ok(())
    }
}
