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
        "welcome" => ": someone added this device to a conversation that it cannot join",
        "key-package" => ": this device was added to two conversations by one key",
        "record" => {
            ": from a device that was revoked, or of a person who was removed, or with devices that \
             a person did not sign; it is not shown: ask for it again"
        }
        "blocked" => ": this person, who is blocked, added you to a team, which was refused",
        "group" => {
            ": two devices changed a team at once, and members have either roster; its owner runs \
             endseal group rotate and endseal sync twice, where group show has the highest epoch"
        }
        "anew" => ": a conversation began anew, because messages of it were missing",
        "membership" => ": a change of a conversation that its persons did not sign",
        "old-epoch" => ": a receipt came too late; it is asked for again",
        "authentication" => ": forged or damaged; the conversation begins anew if it was a text",
        "gap-expired" => ": the hub deleted texts that waited too long",
        "gap-restored" => ": the hub was restored, and may have lost texts",
        "hub-forgot" => ": the hub has forgotten texts that it had accepted",
        "old" => ": the hub does not take a text of yours any more",
        "mailbox" => ": a text of yours cannot arrive: that device is gone from the hub",
        _ => "",
    }
}
