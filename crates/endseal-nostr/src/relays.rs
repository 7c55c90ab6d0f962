//! Lists of relays: of a caller, or decoded one behind the other.

/// Type of a relay's record (NIP-19).
pub(crate) const RELAY: u8 = 1;

/// Records of type, length and value, one byte each for the first two. It ends where one is cut.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [kind, len, rest @ ..] = self.0 else { return None };
        let (value, rest) = rest.split_at_checked(usize::from(*len))?;
        self.0 = rest;
        Some((*kind, value))
    }
}

/// Returns true for one or more visible ASCII characters.
pub(crate) fn is_relay(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_graphic)
}

/// Relays. Two lists are equal if their relays are.
#[derive(Clone, Copy, Debug)]
pub struct Relays<'a>(List<'a>);

#[derive(Clone, Copy, Debug)]
enum List<'a> {
    Texts(&'a [&'a str]),
    Records(&'a [u8]),
}

impl<'a> Relays<'a> {
    /// An empty list of relays.
    pub const NONE: Self = Self(List::Texts(&[]));

    /// Relays of a caller: 1 to 255 visible ASCII characters each.
    #[must_use]
    pub const fn new(relays: &'a [&'a str]) -> Self {
        Self(List::Texts(relays))
    }

    /// The relays among encoded records, which were found valid before.
    pub(crate) const fn from_records(records: &'a [u8]) -> Self {
        Self(List::Records(records))
    }

    /// Iterates over the relays in their order.
    #[must_use]
    pub fn iter(&self) -> RelayIter<'a> {
        RelayIter(match self.0 {
            List::Texts(texts) => Iter::Texts(texts.iter()),
            List::Records(records) => Iter::Records(Records(records)),
        })
    }
}

impl PartialEq for Relays<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Relays<'_> {}

/// Iterator over the URLs of relays.
#[derive(Clone, Debug)]
pub struct RelayIter<'a>(Iter<'a>);

#[derive(Clone, Debug)]
enum Iter<'a> {
    Texts(core::slice::Iter<'a, &'a str>),
    Records(Records<'a>),
}

impl<'a> Iterator for RelayIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        match &mut self.0 {
            Iter::Texts(texts) => texts.next().copied(),
            Iter::Records(records) => {
                let (_, relay) = records.find(|(kind, _)| *kind == RELAY)?;
                str::from_utf8(relay).ok()
            }
        }
    }
}
