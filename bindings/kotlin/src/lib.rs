//! The native library of endseal for Kotlin and Java. UniFFI writes `Generated.kt` from it, and the
//! rest of the package makes calls of it that suspend.

mod error;
mod identity;
mod open;
mod seal;
mod session;

pub use error::EndsealError;
pub use identity::{Identity, PublicIdentity, Recipients};
pub use open::{
    Info, Inspected, OneOfMany, OpenOptions, OpenStream, OpenedContent, inspect, open_many_now,
    open_now,
};
pub use seal::{SealOptions, SealStream, Suite, seal_now};
pub use session::{EngineHandle, StoreSecret, TransactionHandle};

uniffi::setup_scaffolding!("endseal");
