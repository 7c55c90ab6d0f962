//! Identification of the format in the header of the database.

/// The text `esl1`, which SQLite keeps in the header as `application_id`.
pub(crate) const APPLICATION_ID: i32 = 0x6573_6c31;

/// Version of the format, in `user_version`. No earlier one was released, and none is read.
pub(crate) const VERSION: i32 = 4;
