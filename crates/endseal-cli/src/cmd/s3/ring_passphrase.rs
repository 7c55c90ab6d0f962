//! Passphrases of key rings.

use std::path::Path;

use endseal_keyring::Passphrase;
use endseal_kms::ring::{LoadRingError, OpenRingError, RingFile};
use endseal_s3proxy::config::{GivenPassphrase, Keys};

use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};
use crate::passphrase;
use crate::printable::printable;

const PROMPT: &str = "Passphrase of the key ring: ";

/// Returns the passphrase of a ring: the given one, or one that is typed. `None` if the ring has
/// none, or cannot be read.
///
/// # Errors
/// Fails if the passphrase is wrong, or an option gives one for a ring that has none.
pub(super) fn of_ring(file: &Path, ctx: &mut Ctx) -> Result<Option<Passphrase>, Failure> {
    match RingFile::at(file).is_sealed() {
        Ok(true) => passphrase::find(PROMPT, ctx, |passphrase| {
            RingFile::at(file).load(Some(passphrase)).map(drop).map_err(|error| {
                let what = format!("cannot open {}", file.display());
                Failure::new(kind(&error), what).because(&error)
            })
        })
        .map(|(passphrase, ())| Some(passphrase)),
        Ok(false) if passphrase::is_option(&ctx.global) => {
            let what = format!("{} has no passphrase, and one is given", file.display());
            Err(Failure::usage(what).hint(
                "endseal s3 key passphrase puts one on, which --new-passphrase-file gives; or \
                 leave the option out",
            ))
        }
        // The command that reads the ring says why it cannot.
        Ok(false) | Err(_) => Ok(None),
    }
}

/// Says that a ring has no passphrase.
pub(super) fn warn_of_none(file: &Path, ctx: &mut Ctx) {
    let file = file.display().to_string();
    ctx.note(&format!(
        "warning: {0} has no passphrase: anyone who reads it can read every object; endseal s3 \
         key passphrase {0} puts one on",
        printable(&file)
    ));
}

/// Adds the passphrase to the keys of a configuration, if it is given or has to be typed. One in
/// the configuration is used if no option gives another.
///
/// # Errors
/// Those of [`of_ring`]. Fails, too, if an option gives one for keys that are no ring.
pub(super) fn unlock(keys: &mut Keys, ctx: &mut Ctx) -> Result<(), Failure> {
    let is_option = passphrase::is_option(&ctx.global);
    match keys {
        Keys::Ring { passphrase_file: Some(_), .. } if !is_option => Ok(()),
        Keys::Ring { file, passphrase, .. } => {
            *passphrase = of_ring(file, ctx)?.map(GivenPassphrase::new);
            Ok(())
        }
        _ if is_option => {
            Err(Failure::usage("a passphrase is given, and the keys have no passphrase")
                .hint("leave the option out: the configuration says where the keys are"))
        }
        _ => Ok(()),
    }
}

/// Returns the kind of failure that a ring which could not be read means.
pub(super) const fn kind(error: &LoadRingError) -> Kind {
    match error {
        LoadRingError::Open(OpenRingError::Authentication) => Kind::Refused,
        LoadRingError::Open(OpenRingError::NoMemory) | LoadRingError::Io(_) => Kind::Environment,
        _ => Kind::Configuration,
    }
}
