//! Identification of the format in the header of the database.

/// `esl1`, in `application_id`.
pub(crate) const APPLICATION_ID: i32 = 0x6573_6c31;

/// Version of the format, in `user_version`. No earlier one was released, and none is read.
pub(crate) const VERSION: i32 = 4;
