//! Digests of the SHA-2 family by AWS-LC, of data that comes in pieces.

macro_rules! digest {
    ($algorithm:ident, $len:expr) => {
        /// A digest of data that comes in pieces.
        #[derive(Clone)]
        pub struct Digest(aws_lc_rs::digest::Context);

        impl Digest {
            /// A digest of nothing yet.
            #[must_use]
            pub fn new() -> Self {
                Self(aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::$algorithm))
            }

            /// Adds data.
            pub fn update(&mut self, data: &[u8]) {
                self.0.update(data);
            }

            /// The digest of all that was added.
            #[must_use]
            pub fn finish(self) -> [u8; $len] {
                let mut out = [0; $len];
                out.copy_from_slice(self.0.finish().as_ref());
                out
            }
        }

        impl Default for Digest {
            fn default() -> Self {
                Self::new()
            }
        }

        impl core::fmt::Debug for Digest {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("Digest")
            }
        }
    };
}
pub(crate) use digest;
