//! Protections of the process before it touches a secret.

use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Resource, Rlimit, setrlimit};

/// No core dump; on Linux, no other process of the same user may read this one's memory either.
pub(crate) fn harden() -> Result<(), Errno> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    #[cfg(target_os = "linux")]
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}
