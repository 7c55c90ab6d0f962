//! Names of event kinds for people (the list of kinds in the NIPs repository).

/// Returns the name of a kind that clients ask signatures for, in words.
#[must_use]
pub const fn kind_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        0 => "profile: name, picture and about",
        1 => "short text note",
        3 => "follow list: replaces the one before",
        4 => "direct message (NIP-04)",
        5 => "request to delete events",
        6 | 16 => "repost",
        7 => "reaction",
        8 => "badge award",
        9 => "chat message",
        10..=12 => "thread",
        13 => "seal of a private message in your name",
        14 => "private message",
        20 => "picture",
        21 | 22 => "video",
        40..=44 => "public channel",
        62 => "request to delete everything that you have published",
        64 => "chess game",
        818 => "merge request of an article",
        1018 | 1068 => "poll",
        1021 | 1022 => "bid",
        1040 => "timestamp",
        1059 => "gift wrap",
        1063 => "file metadata",
        1111 => "comment",
        1311 => "live chat message",
        1617..=1633 => "patch or issue of a repository",
        1984 => "report of a person or event",
        1985 => "label",
        4550 => "approval of a post in a community",
        5000..=5999 => "job request",
        6000..=6999 => "job result",
        7000 => "job feedback",
        7374..=7376 => "wallet tokens",
        8000..=9030 => "administration of a group",
        9041 => "goal for donations",
        9321 => "payment with wallet tokens",
        9734 => "request to pay (zap)",
        9735 => "receipt of a payment (zap)",
        9802 => "highlight",
        10_000 => "list of what you have muted",
        10_001 => "pinned notes",
        10_002 => "list of your relays",
        10_003 => "bookmarks",
        10_004 => "communities",
        10_005 => "public chats",
        10_006 => "blocked relays",
        10_007 => "search relays",
        10_009 => "groups",
        10_015 => "interests",
        10_019 => "how others may pay you in tokens",
        10_030 => "emoji list",
        10_050 => "relays for private messages",
        10_063 => "media servers",
        10_096 => "file storage servers",
        13_194 => "wallet information",
        17_375 => "wallet keys",
        22_242 => "log-in to a relay",
        23_194 => "request to a wallet: it can pay",
        23_195 => "answer of a wallet",
        24_133 => "request to or answer of a remote signer",
        24_242 => "token for a media server: it can upload and delete",
        27_235 => "token for a request over HTTP",
        30_000 => "list of people",
        30_001..=30_003 => "list of bookmarks",
        30_004 => "curated articles",
        30_008 => "profile badges",
        30_009 => "badge definition",
        30_017 | 30_018 => "stall or product of a market",
        30_023 => "article",
        30_024 => "draft of an article",
        30_030 => "set of emoji",
        30_078 => "data of an app",
        30_311 => "live event",
        30_315 => "status",
        30_402 | 30_403 => "classified advertisement",
        30_617 | 30_618 => "repository",
        30_818 | 30_819 => "wiki article",
        31_234 => "draft",
        31_922 | 31_923 => "calendar event",
        31_924 => "calendar",
        31_925 => "answer to a calendar event",
        31_989 | 31_990 => "recommendation of an app",
        34_235 | 34_236 => "video",
        34_550 => "definition of a community",
        39_000..=39_009 => "state of a group",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_act_elsewhere_have_names() {
        for kind in endseal_nostr::policy::SENSITIVE_KINDS {
            assert!(kind_name(kind).is_some(), "{kind}");
        }
        assert_eq!(kind_name(65_000), None);
    }
}
