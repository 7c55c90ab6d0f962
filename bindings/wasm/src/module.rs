//! State of the module: the buffers through which bytes go, and the objects.

use endseal_facade::{
    DetachedOpenStream, Error, Identity, OpenStream, Passphrase, PublicIdentity, Recipients,
    SealStream,
};
use endseal_wasm_abi::{Answer, Buffers, Table, WebRandom, split, text};

/// Buffers and objects. There is one thread.
pub(crate) struct Module {
    pub(crate) buffers: Buffers,
    pub(crate) identities: Table<Identity>,
    pub(crate) publics: Table<PublicIdentity>,
    pub(crate) recipients: Table<Recipients>,
    pub(crate) seal_streams: Table<SealStream>,
    pub(crate) open_streams: Table<OpenStream>,
    pub(crate) detached_streams: Table<DetachedOpenStream>,
}

impl Module {
    pub(crate) const fn new() -> Self {
        Self {
            buffers: Buffers::new(),
            identities: Table::new(),
            publics: Table::new(),
            recipients: Table::new(),
            seal_streams: Table::new(),
            open_streams: Table::new(),
            detached_streams: Table::new(),
        }
    }

    pub(crate) fn generate(&mut self) -> Answer {
        self.identities.insert(Identity::generate(&mut WebRandom)?)
    }

    /// The input is the file, the passphrase and its form NFKC.
    pub(crate) fn unlock(&mut self, file_len: usize, passphrase_len: usize) -> Answer {
        let (file, rest) = self.buffers.split(file_len)?;
        let identity = Identity::unlock(file, &passphrase(rest, passphrase_len)?)?;
        self.identities.insert(identity)
    }

    /// The input is the passphrase and its form NFKC, the output the file. It is cheap to open for
    /// a passphrase that cannot be guessed.
    pub(crate) fn lock(&mut self, identity: u32, passphrase_len: usize, is_cheap: bool) -> Answer {
        let passphrase = passphrase(&self.buffers.input, passphrase_len)?;
        let identity = self.identities.get(identity)?;
        let file = if is_cheap {
            identity.lock_cheaply(&passphrase, &mut WebRandom)?
        } else {
            identity.lock(&passphrase, &mut WebRandom)?
        };
        self.buffers.output = file.into_bytes();
        Ok(0)
    }

    /// Returns another number for the same keys, which are wiped when both are freed.
    pub(crate) fn share(&mut self, identity: u32) -> Answer {
        let same = self.identities.get(identity)?.clone();
        self.identities.insert(same)
    }

    pub(crate) fn public(&mut self, identity: u32) -> Answer {
        let public = self.identities.get(identity)?.public();
        self.publics.insert(public)
    }

    /// The input is the two seeds.
    #[cfg(feature = "test-vectors")]
    pub(crate) fn from_seeds(&mut self) -> Answer {
        let wrong = |_| Error::argument("a seed of another length");
        let (ed25519, mlkem768) = self.buffers.split(32)?;
        let (ed25519, mlkem768) = (ed25519.try_into(), mlkem768.try_into());
        let identity = Identity::from_seeds(ed25519.map_err(wrong)?, mlkem768.map_err(wrong)?);
        self.identities.insert(identity)
    }

    /// The input is the text form.
    pub(crate) fn parse(&mut self) -> Answer {
        let parsed = PublicIdentity::parse(text(&self.buffers.input)?.trim())?;
        self.publics.insert(parsed)
    }

    /// The output is the text form.
    pub(crate) fn text(&mut self, public: u32) -> Answer {
        self.buffers.output = self.publics.get(public)?.to_string().into_bytes();
        Ok(0)
    }

    pub(crate) fn key(&mut self, public: u32) -> Answer {
        self.buffers.output = self.publics.get(public)?.key().to_vec();
        Ok(0)
    }

    pub(crate) fn short(&mut self, public: u32) -> Answer {
        let short = self.publics.get(public)?.short();
        self.publics.insert(short)
    }

    pub(crate) fn public_is_post_quantum(&mut self, public: u32) -> Answer {
        Ok(i32::from(self.publics.get(public)?.is_post_quantum()))
    }

    /// The input is the numbers of public identities.
    pub(crate) fn prepare(&mut self) -> Answer {
        let of = publics(&mut self.publics, &self.buffers.input)?;
        self.recipients.insert(Recipients::new(&of)?)
    }

    pub(crate) fn recipients_len(&mut self, recipients: u32) -> Answer {
        Ok(i32::try_from(self.recipients.get(recipients)?.len()).unwrap_or(i32::MAX))
    }

    pub(crate) fn recipients_are_post_quantum(&mut self, recipients: u32) -> Answer {
        Ok(i32::from(self.recipients.get(recipients)?.is_post_quantum()))
    }
}

/// Looks up public identities by their numbers.
pub(crate) fn publics(
    of: &mut Table<PublicIdentity>,
    numbers: &[u8],
) -> Result<Vec<PublicIdentity>, Error> {
    words(numbers).map(|number| of.get(number).cloned()).collect()
}

/// Reads little-endian numbers.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word))
}

fn passphrase(input: &[u8], len: usize) -> Result<Passphrase, Error> {
    let (entered, normalised) = split(input, len)?;
    Passphrase::with_normal_form(text(entered)?, text(normalised)?)
}
