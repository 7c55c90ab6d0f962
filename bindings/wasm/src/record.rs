//! Facts about a message, in the form in which JavaScript reads them.

use endseal_facade::Info;

/// Appends facts about a message: its id, its time as an `f64` (NaN for none), the length of the
/// name of its suite, that of its sender, and both.
pub(crate) fn append(info: &Info, to: &mut Vec<u8>) {
    let (suite, sender) = (info.suite, info.sender.to_string());
    to.extend_from_slice(&info.message_id);
    to.extend_from_slice(&info.time.map_or(f64::NAN, |it| it as f64).to_le_bytes());
    to.extend([suite, &sender].map(|it| u8::try_from(it.len()).unwrap_or(u8::MAX)));
    to.extend_from_slice(suite.as_bytes());
    to.extend_from_slice(sender.as_bytes());
}
