//! Warnings about files with secrets that others can read.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::process::getuid;

use crate::ctx::Ctx;
use crate::printable::printable;

/// Permission bits of group and others.
const OTHERS: u32 = 0o077;

/// Warns if other users can access a file with a secret.
///
/// As in ssh, this holds only for regular files of this user. A file of another user, shared
/// through a group, is the decision of the machine's administrator.
pub(crate) fn warn(path: &Path, ctx: &mut Ctx) {
    // If the file does not exist, the command that reads it reports that.
    let Ok(metadata) = path.metadata() else { return };
    let mode = metadata.permissions().mode() & 0o7777;
    if metadata.is_file() && metadata.uid() == getuid().as_raw() && mode & OTHERS != 0 {
        let shown = path.display().to_string();
        let shown = printable(&shown);
        ctx.note(&format!(
            "warning: others can read the secret in '{shown}' (mode {mode:04o}): chmod 600 '{shown}'"
        ));
    }
}
