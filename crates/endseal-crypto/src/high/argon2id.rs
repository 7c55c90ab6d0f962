//! From a passphrase to a key: Argon2id (RFC 9106), version 0x13.

use alloc::vec::Vec;
use core::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};

use crate::secret::Zeroize;

/// Length of the salt in bytes. The salt is random and stored beside the parameters.
pub const SALT_LEN: usize = 16;

crate::secret_bytes! {
    /// Key that Argon2id derives from a passphrase.
    pub struct Stretched[32];
}

/// Cost of one guess of a passphrase, within bounds that no file can exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KdfParams {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl KdfParams {
    /// 64 MiB, 3 passes, 1 lane: the second recommended option of RFC 9106 with one lane, because
    /// one thread computes it.
    pub const RECOMMENDED: Self = Self { memory_kib: 64 * 1024, passes: 3, lanes: 1 };
    /// 8 MiB, 1 pass, 1 lane: for tests and for machines without memory.
    pub const MINIMUM: Self = Self { memory_kib: Self::MIN_MEMORY_KIB, passes: 1, lanes: 1 };

    /// Least memory in KiB that parameters may have: 8 MiB. Less would be too weak.
    pub const MIN_MEMORY_KIB: u32 = 8 * 1024;
    /// Most memory in KiB that parameters may have: 1 GiB. It bounds the cost of a hostile file.
    pub const MAX_MEMORY_KIB: u32 = 1024 * 1024;
    /// Most passes over the memory that parameters may have. It bounds the time of a hostile file.
    pub const MAX_PASSES: u32 = 16;
    /// Most lanes (degree of parallelism in RFC 9106) that parameters may have.
    pub const MAX_LANES: u32 = 4;
    /// Most memory times passes in KiB: some seconds of work.
    pub const MAX_WORK_KIB: u32 = 4 * 1024 * 1024;

    /// Checks the three parameters against their bounds and makes a value of them.
    ///
    /// # Errors
    /// [`InvalidKdfParams`] if one is out of bounds.
    pub fn new(memory_kib: u32, passes: u32, lanes: u32) -> Result<Self, InvalidKdfParams> {
        if !(Self::MIN_MEMORY_KIB..=Self::MAX_MEMORY_KIB).contains(&memory_kib) {
            return Err(InvalidKdfParams::Memory);
        }
        if !(1..=Self::MAX_PASSES).contains(&passes) {
            return Err(InvalidKdfParams::Passes);
        }
        if !(1..=Self::MAX_LANES).contains(&lanes) {
            return Err(InvalidKdfParams::Lanes);
        }
        // At most 2^20 * 2^4: no overflow.
        if memory_kib * passes > Self::MAX_WORK_KIB {
            return Err(InvalidKdfParams::Work);
        }
        Ok(Self { memory_kib, passes, lanes })
    }

    /// Memory that a derivation needs, in KiB.
    #[must_use]
    pub fn memory_kib(&self) -> u32 {
        self.memory_kib
    }

    /// Number of passes over the memory, the time cost `t` of RFC 9106.
    #[must_use]
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// Lanes. They are computed one after the other.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// `Argon2id(passphrase, salt, m = memory, t = passes, p = lanes, T = 32)`.
    ///
    /// # Errors
    /// [`NoMemory`].
    ///
    /// # Panics
    /// If the passphrase is longer than 2^32 - 1 bytes.
    pub fn stretch(&self, passphrase: &[u8], salt: &[u8; SALT_LEN]) -> Result<Stretched, NoMemory> {
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(Stretched::LEN));
        let Ok(params) = params else {
            unreachable!("the bounds here are within those of Argon2");
        };
        let len = params.block_count();
        let mut memory = Vec::new();
        memory.try_reserve_exact(len).map_err(|_| NoMemory)?;
        memory.resize(len, Block::new());
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let stretched = Stretched::init_with(|out| {
            let made = argon2.hash_password_into_with_memory(passphrase, salt, out, &mut memory);
            assert!(made.is_ok(), "lengths of passphrase, salt, output and memory are in bounds");
        });
        memory.zeroize();
        Ok(stretched)
    }
}

/// The memory that the parameters ask for could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is not as much memory as Argon2id needs")
    }
}

impl core::error::Error for NoMemory {}

/// Error: an Argon2id parameter is outside the bounds that this module sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidKdfParams {
    /// The number of lanes is not 1 to [`KdfParams::MAX_LANES`].
    Lanes,
    /// Not [`KdfParams::MIN_MEMORY_KIB`] to [`KdfParams::MAX_MEMORY_KIB`] of memory.
    Memory,
    /// The number of passes is not 1 to [`KdfParams::MAX_PASSES`].
    Passes,
    /// Memory times passes is beyond [`KdfParams::MAX_WORK_KIB`].
    Work,
}

impl fmt::Display for InvalidKdfParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes => {
                write!(f, "Argon2id with other than 1 to {} lanes", KdfParams::MAX_LANES)
            }
            Self::Memory => write!(
                f,
                "Argon2id with other than {} to {} KiB of memory",
                KdfParams::MIN_MEMORY_KIB,
                KdfParams::MAX_MEMORY_KIB
            ),
            Self::Passes => {
                write!(f, "Argon2id with other than 1 to {} passes", KdfParams::MAX_PASSES)
            }
            Self::Work => write!(
                f,
                "Argon2id with more than {} KiB of memory times passes",
                KdfParams::MAX_WORK_KIB
            ),
        }
    }
}

impl core::error::Error for InvalidKdfParams {}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9106, 5.3. Its memory is below the bounds here, and it has a secret and associated data.
    #[test]
    fn the_function_is_that_of_rfc_9106() {
        let params = argon2::ParamsBuilder::new()
            .m_cost(32)
            .t_cost(3)
            .p_cost(4)
            .data(argon2::AssociatedData::new(&[4; 12]).unwrap())
            .build()
            .unwrap();
        let (algorithm, version) = (Algorithm::Argon2id, Version::V0x13);
        let argon2 = Argon2::new_with_secret(&[3; 8], algorithm, version, params).unwrap();
        let (mut tag, mut memory) = ([0; 32], [Block::new(); 32]);
        let filled =
            argon2.hash_password_into_with_memory(&[1; 32], &[2; 16], &mut tag, &mut memory);
        assert_eq!(filled, Ok(()));
        let expected = [
            0x0d, 0x64, 0x0d, 0xf5, 0x8d, 0x78, 0x76, 0x6c, 0x08, 0xc0, 0x37, 0xa3, 0x4a, 0x8b,
            0x53, 0xc9, 0xd0, 0x1e, 0xf0, 0x45, 0x2d, 0x75, 0xb6, 0x5e, 0xb5, 0x25, 0x20, 0xe9,
            0x6b, 0x01, 0xe6, 0x59,
        ];
        assert_eq!(tag, expected);
    }

    #[test]
    fn bounds_are_exact() {
        let new = |m, t, p| KdfParams::new(m, t, p).err();
        assert_eq!(new(8191, 1, 1), Some(InvalidKdfParams::Memory));
        assert_eq!(new(8192, 1, 1), None);
        assert_eq!(new(1_048_576, 4, 4), None);
        assert_eq!(new(1_048_577, 1, 1), Some(InvalidKdfParams::Memory));
        assert_eq!(new(u32::MAX, 1, 1), Some(InvalidKdfParams::Memory));
        assert_eq!(new(8192, 0, 1), Some(InvalidKdfParams::Passes));
        assert_eq!(new(8192, 16, 1), None);
        assert_eq!(new(8192, 17, 1), Some(InvalidKdfParams::Passes));
        assert_eq!(new(8192, 1, 0), Some(InvalidKdfParams::Lanes));
        assert_eq!(new(8192, 1, 5), Some(InvalidKdfParams::Lanes));
        assert_eq!(new(1_048_576, 5, 1), Some(InvalidKdfParams::Work));
        let KdfParams { memory_kib, passes, lanes } = KdfParams::RECOMMENDED;
        assert_eq!(new(memory_kib, passes, lanes), None);
    }
}
