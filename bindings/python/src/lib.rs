//! The native part of the Python package `endseal` (`endseal/_native.pyi` has its types).

mod bytes;
mod error;
mod identity;
mod open;
mod seal;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::identity::{Identity, PublicIdentity, Recipients};
    #[pymodule_export]
    use super::open::{Inspected, OpenStream, Opened, inspect, open, open_many};
    #[pymodule_export]
    use super::seal::{SealStream, seal};
}
