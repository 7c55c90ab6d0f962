//! Protections of the process that are enabled before it reads a secret.

use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Disables core dumps. On Linux it also prevents other processes of the same user from reading
/// this one's memory.
pub(crate) fn harden() -> Result<(), Errno> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    #[cfg(target_os = "linux")]
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}
