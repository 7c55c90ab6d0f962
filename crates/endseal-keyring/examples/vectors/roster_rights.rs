//! Vectors of transfers, admins and signers in single rosters. Invalid ones have valid signatures,
//! so that another check refuses them.

use std::path::Path;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::label::{self, Label};
use endseal_keyring::roster::{GroupId, Member, RosterChanges};
use endseal_keyring::{Name, Roster};

use crate::roster::{short_member, signed, text, vector, write_ok};
use crate::{LOW_ORDER, bech32m, long, mixed_order, owner, short};

/// Id of the groups in these vectors.
const ID: [u8; 16] = [0xc3; 16];

/// Epochs of groups that `owner(1)` made, with the members alice (1), bob (2) and carol (3).
pub(crate) struct Epochs {
    pub(crate) first: Roster,
    /// Epoch 2: bob and carol are admins.
    pub(crate) appointed: Roster,
    /// Epoch 3 after `appointed`, signed by bob.
    pub(crate) by_admin: Roster,
    /// Epoch 4 after `by_admin`: bob is no admin any more.
    pub(crate) dismissed: Roster,
    /// Epoch 3 after `appointed`: bob becomes the owner.
    pub(crate) handed_on: Roster,
    /// Epoch 4 after `handed_on`, signed by bob; carol is admin.
    pub(crate) next_owner: Roster,
    /// Epoch 5 after `next_owner`: carol becomes the owner.
    pub(crate) handed_on_again: Roster,
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// Signs the epoch after `roster` as `owner(n)`.
pub(crate) fn next(roster: &Roster, n: u8, changes: &RosterChanges) -> Roster {
    roster.next_epoch(changes).unwrap().sign(&owner(n), b"epoch key").unwrap()
}

/// Returns the changes that `make` makes.
pub(crate) fn changes(make: impl FnOnce(&mut RosterChanges)) -> RosterChanges {
    let mut changes = RosterChanges::new();
    make(&mut changes);
    changes
}

/// Signs rights of `owner(to)` from an epoch on as `owner(by)`.
fn grant(id: &[u8], label: Label, epoch: u64, to: u8, by: u8) -> String {
    let key = *owner(to).public().ed25519();
    let label = label.as_str().as_bytes();
    let message = [label, &[0], id, &epoch.to_le_bytes(), key.as_bytes()].concat();
    Base64::encode_string(owner(by).signing().sign(&message).as_bytes())
}

/// Returns the line by which `owner(from)` hands the group on to `owner(to)`.
pub(crate) fn transfer(epoch: u64, from: u8, to: u8) -> String {
    transfer_in(&ID, epoch, from, to)
}

pub(crate) fn transfer_in(id: &[u8], epoch: u64, from: u8, to: u8) -> String {
    let signature = grant(id, label::ROSTER_TRANSFER, epoch, to, from);
    format!("transfer {epoch} {} {signature}\n", short(from))
}

/// Returns the line by which `owner(by)` appoints the member of that name, `owner(n)`.
pub(crate) fn admin(name: &str, epoch: u64, n: u8, by: u8) -> String {
    admin_in(&ID, name, epoch, n, by)
}

pub(crate) fn admin_in(id: &[u8], name: &str, epoch: u64, n: u8, by: u8) -> String {
    format!("admin {name} {epoch} {}\n", grant(id, label::ROSTER_ADMIN, epoch, n, by))
}

/// Puts lines before the number of members.
pub(crate) fn with_rights(roster: &str, lines: &str) -> String {
    roster.replace("members ", &format!("{lines}members "))
}

/// Returns the roster without the lines that begin with this field.
pub(crate) fn without(roster: &str, field: &str) -> String {
    let other = |line: &&str| !line.starts_with(&format!("{field} "));
    roster.split_inclusive('\n').filter(other).collect()
}

/// Returns the roster with another owner.
pub(crate) fn with_owner(roster: &str, from: u8, to: u8) -> String {
    roster.replace(&format!("owner {}", short(from)), &format!("owner {}", short(to)))
}

/// Returns a group's first epoch with the owner as alice, and with bob and carol.
pub(crate) fn first() -> Roster {
    let members = vec![short_member("alice", 1), short_member("bob", 2), short_member("carol", 3)];
    let key = *owner(1).public().ed25519();
    let draft = Roster::create(name("team"), GroupId::from_bytes(ID), key, members).unwrap();
    draft.sign(&owner(1), b"epoch key").unwrap()
}

pub(crate) fn write(dir: &Path) -> Epochs {
    let epochs = epochs();
    successes(dir, &epochs);
    wrong_transfers(dir, &epochs);
    wrong_admins(dir, &epochs);
    wrong_signers(dir, &epochs);
    epochs
}

fn epochs() -> Epochs {
    let first = first();
    let both = changes(|it| {
        it.appoint(name("carol")).appoint(name("bob"));
    });
    let appointed = next(&first, 1, &both);
    let admits = changes(|it| {
        it.rename(name("crew")).add(short_member("dave", 4));
    });
    let by_admin = next(&appointed, 2, &admits);
    let dismisses = changes(|it| {
        it.dismiss(name("bob"));
    });
    let dismissed = next(&by_admin, 1, &dismisses);
    let hands_on = changes(|it| {
        it.hand_on(name("bob"));
    });
    let handed_on = next(&appointed, 1, &hands_on);
    let without_former = changes(|it| {
        it.remove(name("alice")).appoint(name("carol"));
    });
    let next_owner = next(&handed_on, 2, &without_former);
    let again = changes(|it| {
        it.hand_on(name("carol"));
    });
    let handed_on_again = next(&next_owner, 2, &again);
    Epochs { first, appointed, by_admin, dismissed, handed_on, next_owner, handed_on_again }
}

fn successes(dir: &Path, epochs: &Epochs) {
    let Epochs { first, appointed, by_admin, dismissed, handed_on, next_owner, .. } = epochs;
    let again = &epochs.handed_on_again;
    let write = |scenario, comment, roster: &Roster, previous: &Roster| {
        write_ok(dir, scenario, comment, roster, Some(previous));
    };
    write("admins", "the owner appoints two admins", appointed, first);
    write("admin-signs", "an admin renames the group and adds a member", by_admin, appointed);
    write("admin-dismissed", "the owner dismisses an admin", dismissed, by_admin);
    write("handed-on", "the former owner hands the group on", handed_on, appointed);
    write("next-owner", "the next owner signs", next_owner, handed_on);
    write("handed-on-again", "the second owner hands the group on", again, next_owner);
    let removes = changes(|it| {
        it.remove(name("carol"));
    });
    let removed = next(appointed, 2, &removes);
    write("admin-removes-admin", "an admin removes another one", &removed, appointed);
    let completes = changes(|it| {
        let long = Member::new(name("carol"), owner(3).public().clone());
        it.remove(name("carol")).add(long);
    });
    let completed = next(appointed, 2, &completes);
    write("admin-in-long-form", "an admin gets the long form", &completed, appointed);

    let mut roster = first.clone();
    for at in 0..16_u8 {
        let (from, to) = if at % 2 == 0 { (1, "bob") } else { (2, "alice") };
        let hands_on = changes(|it| {
            it.hand_on(name(to));
        });
        roster = next(&roster, from, &hands_on);
    }
    write_ok(dir, "transfers-16", "as many transfers as there can be", &roster, None);
    let epoch = roster.epoch() + 1;
    let over = with_rights(&text(&roster), &transfer(epoch, 1, 2))
        .replace(&format!("epoch {}\n", epoch - 1), &format!("epoch {epoch}\n"));
    let over = signed(&with_owner(&over, 1, 2), 1);
    vector("transfers-17", "a transfer too many", "limit", &over).write(dir);
}

fn wrong_transfers(dir: &Path, epochs: &Epochs) {
    let (handed_on, after) = (text(&epochs.handed_on), without_admins(&epochs.next_owner));
    let line = transfer(3, 1, 2);
    assert!(handed_on.contains(&line) && after.contains(&line));
    let now = |other: &str| signed(&handed_on.replace(&line, other), 1);
    let later = |other: &str| signed(&after.replace(&line, other), 2);
    let signed_with = |label, id: &[u8], by| {
        let signature = grant(id, label, 3, 2, by);
        now(&format!("transfer 3 {} {signature}\n", short(1)))
    };
    let signature = grant(&ID, label::ROSTER_TRANSFER, 3, 2, 1);
    let low = bech32m::encode("endseal", &LOW_ORDER);
    let bob = format!("member bob {}\n", short(2));
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("transfer-by-another", "signed by another than the former owner", "signature", {
            signed_with(label::ROSTER_TRANSFER, &ID, 3)
        }),
        ("transfer-other-group", "the transfer of another group", "signature", {
            signed_with(label::ROSTER_TRANSFER, &[0xc4; 16], 1)
        }),
        ("transfer-other-label", "the signature of an appointment", "signature", {
            signed_with(label::ROSTER_ADMIN, &ID, 1)
        }),
        ("transfer-other-epoch", "signed for epoch 3, in epoch 2", "signature", {
            later(&line.replace("transfer 3", "transfer 2"))
        }),
        ("transfer-other-owner", "signed for bob, and carol is the owner", "signature", {
            signed(&with_owner(&after, 2, 3), 3)
        }),
        ("transfer-other-next", "signed for carol, and bob hands it on", "signature", {
            let lines = format!("{}{}", transfer(2, 1, 3), transfer(3, 2, 3));
            signed(&with_owner(&after.replace(&line, &lines), 2, 3), 3)
        }),
        ("transfer-by-next-owner", "the next owner signs too early", "signature", {
            signed(&handed_on, 2)
        }),
        ("transfer-former-signs", "the former owner signs too late", "signature", {
            signed(&after, 1)
        }),
        ("transfer-to-no-member", "the next owner is no member", "owner", {
            signed(&handed_on.replace("members 3", "members 2").replace(&bob, ""), 1)
        }),
        ("transfer-epoch-1", "in the first epoch", "form", later(&transfer(1, 1, 2))),
        ("transfer-epoch-later", "in a later epoch", "form", later(&transfer(5, 1, 2))),
        ("transfer-epoch-zero", "a leading zero", "form", {
            later(&line.replace("transfer 3", "transfer 03"))
        }),
        ("transfers-in-one-epoch", "two transfers in one epoch", "form", {
            later(&format!("{}{}", transfer(3, 1, 3), transfer(3, 3, 2)))
        }),
        ("transfers-unsorted", "the later transfer first", "form", {
            later(&format!("{}{}", transfer(3, 1, 3), transfer(2, 3, 2)))
        }),
        ("transfer-long", "the former owner in the long form", "form", {
            later(&format!("transfer 3 {} {signature}\n", long(1)))
        }),
        ("transfer-low-order", "the neutral element as the former owner", "identity", {
            later(&format!("transfer 3 {low} {signature}\n"))
        }),
        ("transfer-without-signature", "no signature", "form", {
            later(&format!("transfer 3 {}\n", short(1)))
        }),
        ("transfer-short-signature", "a signature of 63 bytes", "form", {
            let signature = Base64::encode_string(&[7; 63]);
            later(&format!("transfer 3 {} {signature}\n", short(1)))
        }),
        ("transfer-four-words", "something after the signature", "form", {
            later(&line.replace('\n', " x\n"))
        }),
        ("transfer-after-admin", "an admin before the transfer", "form", {
            later(&format!("{}{line}", admin("carol", 4, 3, 2)))
        }),
    ];
    write_cases(dir, cases);
}

fn wrong_admins(dir: &Path, epochs: &Epochs) {
    let plain = without_admins(&epochs.appointed);
    let again = |lines: &str| signed(&with_rights(&plain, lines), 1);
    let signed_with =
        |label, id: &[u8], by| again(&format!("admin bob 2 {}\n", grant(id, label, 2, 2, by)));
    let bob = admin("bob", 2, 2, 1);
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("admin-by-another", "appointed by another than the owner", "signature", {
            signed_with(label::ROSTER_ADMIN, &ID, 3)
        }),
        ("admin-other-group", "appointed in another group", "signature", {
            signed_with(label::ROSTER_ADMIN, &[0xc4; 16], 1)
        }),
        ("admin-other-label", "the signature of a transfer", "signature", {
            signed_with(label::ROSTER_TRANSFER, &ID, 1)
        }),
        ("admin-other-epoch", "signed for epoch 2, in epoch 1", "signature", {
            again(&bob.replace("bob 2", "bob 1"))
        }),
        ("admin-other-member", "bob's appointment under carol's name", "signature", {
            again(&bob.replace("bob", "carol"))
        }),
        ("admin-second-wrong", "the second of two appointments is wrong", "signature", {
            again(&format!("{bob}{}", admin("carol", 2, 2, 1)))
        }),
        ("admin-epoch-0", "epoch 0", "form", again(&admin("bob", 0, 2, 1))),
        ("admin-epoch-later", "a later epoch", "form", again(&admin("bob", 3, 2, 1))),
        ("admin-epoch-zero", "a leading zero", "form", again(&bob.replace("bob 2", "bob 02"))),
        ("admin-before-transfer", "the owner's appointment, before two transfers", "form", {
            let there = changes(|it| {
                it.hand_on(name("carol"));
            });
            let back = changes(|it| {
                it.hand_on(name("alice"));
            });
            let there = next(&epochs.appointed, 1, &there);
            let back = next(&next(&there, 3, &back), 1, &RosterChanges::new());
            signed(&with_rights(&text(&back), &bob), 1)
        }),
        ("admin-in-epoch-of-transfer", "the next owner's appointment, too early", "form", {
            let handed_on = text(&epochs.handed_on);
            signed(&with_rights(&handed_on, &admin("carol", 3, 3, 2)), 1)
        }),
        ("admins-unsorted", "carol before bob", "order", {
            again(&format!("{}{bob}", admin("carol", 2, 3, 1)))
        }),
        ("admin-twice", "one admin twice", "duplicate", again(&format!("{bob}{bob}"))),
        ("admin-no-member", "an admin who is no member", "admin", {
            again(&admin("dave", 2, 4, 1))
        }),
        ("admin-is-owner", "the owner as an admin", "admin", again(&admin("alice", 2, 1, 1))),
        ("admin-name-not-valid", "a name that begins with a dash", "form", {
            again(&bob.replace("bob", "-bob"))
        }),
        ("admin-without-signature", "no signature", "form", again("admin bob 2\n")),
        ("admin-short-signature", "a signature of 63 bytes", "form", {
            again(&format!("admin bob 2 {}\n", Base64::encode_string(&[7; 63])))
        }),
        ("admin-four-words", "something after the signature", "form", {
            again(&bob.replace('\n', " x\n"))
        }),
    ];
    write_cases(dir, cases);
}

fn wrong_signers(dir: &Path, epochs: &Epochs) {
    let by_bob = text(&epochs.by_admin);
    let plain = without_admins(&epochs.appointed);
    let bob = admin("bob", 2, 2, 1);
    let again = |lines: &str, n| signed(&with_rights(&plain, lines), n);
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("signer-signed-by-owner", "the owner signs for the admin", "signature", {
            signed(&by_bob, 1)
        }),
        ("signer-signed-by-other", "an admin signs for another one", "signature", {
            signed(&by_bob, 3)
        }),
        ("signer-missing", "an admin signs without the line signer", "signature", {
            signed(&without(&by_bob, "signer"), 2)
        }),
        ("signer-not-appointed", "the signer is not appointed by the owner", "signature", {
            again(&format!("{}signer bob\n", admin("bob", 2, 2, 3)), 2)
        }),
        (
            "signer-not-appointed-first",
            "the signer is not appointed, and a member's key is not valid",
            "signature",
            {
                let lines = format!("{}signer bob\n", admin("bob", 2, 2, 3));
                signed(&with_rights(&plain, &lines).replace(&short(3), &mixed_order()), 2)
            },
        ),
        ("signer-other-key", "the signer is appointed with another key", "signature", {
            again(&format!("{}signer bob\n", admin("bob", 2, 3, 1)), 2)
        }),
        ("signer-no-admin", "the signer is a member and no admin", "admin", {
            again(&format!("{bob}signer carol\n"), 3)
        }),
        ("signer-no-member", "the signer is an admin and no member", "admin", {
            again(&format!("{}signer dave\n", admin("dave", 2, 4, 1)), 4)
        }),
        ("signer-is-owner", "the owner as an admin who signs", "admin", {
            again(&format!("{}signer alice\n", admin("alice", 2, 1, 1)), 1)
        }),
        ("signer-mixed-order", "the signer's key and a point of order 8", "identity", {
            let changed = with_rights(&plain, &format!("{bob}signer bob\n"));
            signed(&changed.replace(&short(2), &mixed_order()), 2)
        }),
        (
            "signer-other-appointment",
            "another appointment than the signer's is wrong",
            "signature",
            { again(&format!("{bob}{}signer bob\n", admin("carol", 2, 3, 2)), 2) },
        ),
        ("signer-twice", "two signers", "form", {
            again(&format!("{bob}signer bob\nsigner bob\n"), 2)
        }),
        ("signer-before-admin", "the signer before another admin", "form", {
            again(&format!("{bob}signer bob\n{}", admin("carol", 2, 3, 1)), 2)
        }),
        ("signer-name-not-valid", "capital letters in the name", "form", {
            again(&format!("{bob}signer Bob\n"), 2)
        }),
    ];
    write_cases(dir, cases);
}

fn without_admins(roster: &Roster) -> String {
    without(&text(roster), "admin")
}

fn write_cases(dir: &Path, cases: &[(&'static str, &str, &str, String)]) {
    for (scenario, comment, expect, roster) in cases {
        vector(scenario, comment, expect, roster).write(dir);
    }
}
