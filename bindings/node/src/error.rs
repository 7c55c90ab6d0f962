//! Errors, whose codes `error.js` reads from the beginning of their texts.

use napi::{Error, Status};

pub(crate) fn exception(error: endseal_facade::Error) -> Error {
    Error::new(Status::GenericFailure, format!("{}: {error}", error.code()))
}
