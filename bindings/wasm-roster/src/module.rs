//! Reading of rosters. Between two calls there is no state but the buffers.

use endseal_facade::{PublicIdentity, Roster};
use endseal_wasm_abi::{Answer, Buffers, joined, text};

/// The buffers.
pub(crate) struct Module {
    pub(crate) buffers: Buffers,
}

impl Module {
    pub(crate) const fn new() -> Self {
        Self { buffers: Buffers::new() }
    }

    /// The input is the owner's identity and a roster; the output is what it says.
    pub(crate) fn read(&mut self, owner_len: usize) -> Answer {
        let (owner, file) = self.buffers.split(owner_len)?;
        let owner = PublicIdentity::parse(text(owner)?)?;
        self.buffers.output = joined(Roster::read(file, &owner)?.texts());
        Ok(0)
    }

    /// The input is a roster that was accepted and the next one; the output is what that says.
    pub(crate) fn read_next(&mut self, held_len: usize, allows_gap: bool) -> Answer {
        let (held, file) = self.buffers.split(held_len)?;
        let next = Roster::parse(held)?.read_next(file, allows_gap)?;
        self.buffers.output = joined(next.texts());
        Ok(0)
    }
}
