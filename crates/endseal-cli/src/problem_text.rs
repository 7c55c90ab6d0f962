//! Classes of problems with messages, in words.

/// Returns what a class of a problem means and what to do, for the end of a line. Empty for a class
/// that this version does not know.
pub(crate) fn meaning(class: &str) -> &'static str {
    match class {
        "frame" => ": damaged, or of a newer version",
        "archive" => {
            ": the history of a device for a link that is done; nothing is missing if you ran \
             endseal devices add on two devices"
        }
        "letter" => ": a text to a group that is not sealed to you, or was changed",
        "member" => ": a text to a group by a person who was no member then",
        "group" => ": a text to a group of which no roster came in time; ask for: group export",
        "own" => ": a text that claims to come from this device, and does not",
        "gap-expired" => ": the hub deleted texts that waited too long",
        "gap-restored" => ": the hub was restored, and may have lost texts",
        "hub-forgot" => ": the hub has forgotten texts that it had accepted",
        "old" => ": the hub does not take a text of yours any more",
        "mailbox" => ": a text of yours cannot arrive: that device is gone from the hub",
        _ => "",
    }
}
