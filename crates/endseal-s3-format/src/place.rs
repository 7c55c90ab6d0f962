//! "Place": the names that an object is bound to.

/// The names that an object is bound to, from the weakest binding to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(clippy::exhaustive_enums, reason = "the format has these")]
pub enum Binding {
    /// None: the object opens wherever it lies.
    None,
    /// The bucket: the object opens at any key of it.
    Bucket,
    /// The bucket and the key.
    Key,
}

impl Binding {
    pub(super) const fn to_byte(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Bucket => 1,
            Self::Key => 2,
        }
    }

    pub(super) const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::None),
            1 => Some(Self::Bucket),
            2 => Some(Self::Key),
            _ => None,
        }
    }
}

/// Bucket and key of an object, as clients name it: before names are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    bucket: &'a str,
    key: &'a str,
}

impl<'a> Place<'a> {
    /// `None` if the bucket's name or the key is empty, or longer than S3 allows: 255 bytes for a
    /// bucket (63 where it is new), 1,024 for a key.
    #[must_use]
    pub fn new(bucket: &'a str, key: &'a str) -> Option<Self> {
        let fits = |text: &str, max| (1..=max).contains(&text.len());
        (fits(bucket, 255) && fits(key, 1_024)).then_some(Self { bucket, key })
    }

    /// Name of the bucket that holds the object.
    #[must_use]
    pub fn bucket(&self) -> &'a str {
        self.bucket
    }

    /// Key of the object, as clients name it.
    #[must_use]
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// The encoding `place(binding, bucket, key)` of docs/spec/s3-object.md.
    pub(super) fn to_bytes(self, binding: Binding) -> Vec<u8> {
        let mut out = Vec::with_capacity(5 + self.bucket.len() + self.key.len());
        out.push(binding.to_byte());
        let names = match binding {
            Binding::None => &[][..],
            Binding::Bucket => &[self.bucket],
            Binding::Key => &[self.bucket, self.key],
        };
        for name in names {
            // Both lengths are below 2^16: `new` has seen to that.
            let [.., high, low] = name.len().to_be_bytes();
            out.extend([high, low]);
            out.extend(name.as_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_specification() {
        let key = "k".repeat(300);
        let place = Place::new("photos", &key).unwrap();
        assert_eq!(place.to_bytes(Binding::None), [0]);
        assert_eq!(place.to_bytes(Binding::Bucket), *b"\x01\x00\x06photos");
        assert_eq!(place.to_bytes(Binding::Key)[..11], *b"\x02\x00\x06photos\x01\x2c");
        assert_eq!(place.to_bytes(Binding::Key).len(), 311);
    }

    #[test]
    fn names_beyond_the_limits_are_no_place() {
        for (bucket, key, fits) in
            [(0, 1, false), (1, 0, false), (1, 1, true), (255, 1_024, true), (256, 1, false)]
        {
            let (bucket, key) = ("b".repeat(bucket), "k".repeat(key));
            assert_eq!(Place::new(&bucket, &key).is_some(), fits);
        }
        assert_eq!(Place::new("b", &"k".repeat(1_025)), None);
    }

    #[test]
    fn stronger_bindings_are_greater() {
        assert!(Binding::None < Binding::Bucket && Binding::Bucket < Binding::Key);
        for byte in 0..=255 {
            assert_eq!(Binding::from_byte(byte).map(Binding::to_byte).is_some(), byte < 3);
        }
    }
}
