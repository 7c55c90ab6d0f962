//! Vectors of the chain over transfers, and of rosters signed by admins.

use std::path::Path;

use endseal_keyring::Roster;
use endseal_keyring::roster::RosterChanges;

use crate::roster::{short_member, signed, text, vector};
use crate::roster_rights::{
    Epochs, admin, changes, name, next, transfer, with_owner, with_rights, without,
};
use crate::{long, short};

/// A vector: scenario, comment, class, roster and the roster held.
type Case<'a> = (&'static str, &'a str, &'a str, String, &'a Roster);

pub(crate) fn write(dir: &Path, epochs: &Epochs) {
    let rights = [rights_of_admins(epochs), missed_appointments(epochs)].concat();
    let cases = [transfers(epochs), admins(epochs), rights].concat();
    for (scenario, comment, expect, roster, held) in cases {
        vector(scenario, comment, expect, &roster).with("previous", &text(held)).write(dir);
    }
}

fn transfers(epochs: &Epochs) -> Vec<Case<'_>> {
    let Epochs { first, appointed, handed_on, next_owner, handed_on_again, .. } = epochs;
    let plain = RosterChanges::new();
    let after = text(&next(next_owner, 2, &plain));
    let alone = next(appointed, 1, &plain);
    let by = |lines: &str, owner| {
        let changed = with_owner(&without(&text(&alone), "admin"), 1, owner);
        signed(&with_rights(&changed, lines), owner)
    };
    vec![
        ("chain-transfers-gap", "two transfers on", "gap", text(handed_on_again), appointed),
        (
            "chain-transfer-by-another",
            "handed on by another than the owner held",
            "owner",
            {
                let changed = with_rights(&text(&alone), &transfer(3, 5, 2));
                signed(&with_owner(&without(&changed, "admin"), 1, 2), 5)
            },
            appointed,
        ),
        (
            "chain-transfer-earlier-added",
            "the owner held, to whom another handed on",
            "owner",
            by(&transfer(2, 5, 1), 1),
            appointed,
        ),
        (
            "chain-transfer-before-held",
            "handed on before the epoch held",
            "owner",
            by(&transfer(2, 1, 2), 2),
            appointed,
        ),
        (
            "chain-transfer-dropped",
            "the owner held, and no transfer",
            "owner",
            signed(&without(&without(&after, "transfer"), "admin"), 2),
            next_owner,
        ),
        (
            "chain-transfer-changed",
            "the owner held, handed on in another epoch",
            "owner",
            signed(&after.replace(&transfer(3, 1, 2), &transfer(2, 1, 2)), 2),
            next_owner,
        ),
        (
            "chain-transfer-other-next",
            "the transfer held, and another owner",
            "owner",
            {
                let changed = after.replace(&transfer(3, 1, 2), &transfer(3, 1, 3));
                signed(&without(&with_owner(&changed, 2, 3), "admin"), 3)
            },
            next_owner,
        ),
        (
            "chain-former-owner",
            "the former owner signs the next epoch",
            "owner",
            {
                let changed = without(&without(&after, "transfer"), "admin");
                signed(&with_owner(&changed, 2, 1), 1)
            },
            next_owner,
        ),
        (
            "chain-former-owner-same-epoch",
            "the former owner signs the epoch of the transfer without it",
            "owner",
            text(&alone),
            handed_on,
        ),
        (
            "chain-rollback-before-transfer",
            "an epoch from before the transfer",
            "rollback",
            text(first),
            next_owner,
        ),
        (
            "chain-older-other-owner",
            "an earlier epoch of an owner who never was one",
            "owner",
            signed(&with_owner(&text(first), 1, 5), 5),
            next_owner,
        ),
    ]
}

/// Rosters of admins whom the owner appointed after the roster held. Readers that permit a gap
/// accept those with the class `gap`.
fn missed_appointments(epochs: &Epochs) -> Vec<Case<'_>> {
    let Epochs { first, appointed, by_admin, dismissed, next_owner, .. } = epochs;
    let plain = RosterChanges::new();
    let appoints = changes(|it| {
        it.appoint(name("dave"));
    });
    let again = changes(|it| {
        it.dismiss(name("bob")).appoint(name("bob"));
    });
    let by_carol = next(next_owner, 3, &plain);
    let new_owner = format!("member bob {}\n", short(2));
    vec![
        ("chain-admin-missed", "the owner appointed bob between", "gap", text(by_admin), first),
        (
            "chain-admin-missed-and-held",
            "carol is an admin in the epoch held, and the owner appointed dave between",
            "gap",
            text(&next(&next(dismissed, 1, &appoints), 3, &plain)),
            dismissed,
        ),
        (
            "chain-admin-missed-again",
            "the owner appointed bob again between",
            "gap",
            text(&next(&next(by_admin, 1, &again), 2, &plain)),
            by_admin,
        ),
        (
            "chain-admin-missed-transfer",
            "the group was handed on between, and the next owner appointed carol",
            "gap",
            text(&by_carol),
            appointed,
        ),
        (
            "chain-admin-missed-transfer-owner-removed",
            "an admin removes the next owner, who is a member in the epoch held",
            "admin",
            {
                let roster = text(&by_carol);
                assert!(roster.contains(&new_owner));
                let count = |n| format!("members {n}");
                signed(&roster.replace(&new_owner, "").replace(&count(2), &count(1)), 3)
            },
            appointed,
        ),
        (
            "chain-admin-missed-epoch-offered",
            "bob signs the epoch that appoints bob, two epochs on",
            "admin",
            {
                let lines = format!("{}signer bob\n", admin("bob", 3, 2, 1));
                let roster = without(&without(&text(by_admin), "admin"), "signer");
                signed(&with_rights(&roster, &lines), 2)
            },
            first,
        ),
        (
            "chain-admin-missed-epoch-held",
            "the epoch of bob's appointment is the one held, where bob is no admin",
            "admin",
            {
                let lines = format!("{}signer bob\n", admin("bob", 4, 2, 1));
                let roster = text(&next(&next(dismissed, 1, &plain), 1, &plain));
                signed(&with_rights(&without(&roster, "admin"), &lines), 2)
            },
            dismissed,
        ),
        (
            "chain-admin-dismissed-gap",
            "bob was dismissed in the epoch held, and signs a later one with a gap",
            "admin",
            text(&next(&next(by_admin, 2, &plain), 2, &plain)),
            dismissed,
        ),
    ]
}

fn admins(epochs: &Epochs) -> Vec<Case<'_>> {
    let Epochs { first, appointed, by_admin, dismissed, .. } = epochs;
    let plain = RosterChanges::new();
    let by_bob = format!("{}signer bob\n", admin("bob", 2, 2, 1));
    let as_bob = |roster: &Roster| {
        let roster = without(&without(&text(roster), "admin"), "signer");
        signed(&with_rights(&roster, &by_bob), 2)
    };
    vec![
        (
            "chain-admin-not-held",
            "bob signs the epoch that appoints bob",
            "admin",
            as_bob(appointed),
            first,
        ),
        (
            "chain-admin-dismissed",
            "bob was dismissed in the epoch held",
            "admin",
            as_bob(&next(dismissed, 1, &plain)),
            dismissed,
        ),
        (
            "chain-admin-dismissed-same-epoch",
            "bob was dismissed in the epoch held, and signs another one",
            "admin",
            text(&next(by_admin, 2, &plain)),
            dismissed,
        ),
        (
            "chain-admin-rollback",
            "an earlier epoch, signed by an admin of that time",
            "rollback",
            text(by_admin),
            dismissed,
        ),
        ("chain-admin-same", "the roster that is held", "same", text(by_admin), by_admin),
        (
            "chain-admins-at-once",
            "two admins sign one epoch",
            "fork",
            text(&next(appointed, 3, &plain)),
            by_admin,
        ),
        (
            "chain-admin-fork",
            "an admin builds on another epoch",
            "fork",
            text(&next(&next(appointed, 3, &plain), 2, &plain)),
            by_admin,
        ),
        (
            "chain-admin-gap",
            "two epochs on, signed by an admin",
            "gap",
            text(&next(by_admin, 2, &plain)),
            appointed,
        ),
    ]
}

fn rights_of_admins(epochs: &Epochs) -> Vec<Case<'_>> {
    let Epochs { appointed, by_admin, dismissed, .. } = epochs;
    let good = text(by_admin);
    let alice = format!("member alice {}\n", short(1));
    let again = |other: &str| {
        assert!(good.contains(&alice));
        signed(&good.replace(&alice, other), 2)
    };
    vec![
        (
            "chain-admin-removes-owner",
            "an admin removes the owner",
            "admin",
            signed(&good.replace(&alice, "").replace("members 4", "members 3"), 2),
            appointed,
        ),
        (
            "chain-admin-renames-owner",
            "an admin gives the owner another name",
            "admin",
            again(&alice.replace("alice", "alicia")),
            appointed,
        ),
        (
            "chain-admin-replaces-owner",
            "an admin gives the owner's name to another member",
            "admin",
            again(&alice.replace(&short(1), &short(6))),
            appointed,
        ),
        (
            "chain-admin-owner-long",
            "an admin gives the owner the long form",
            "admin",
            again(&alice.replace(&short(1), &long(1))),
            appointed,
        ),
        (
            "chain-admin-appoints",
            "an admin lists another one who was dismissed",
            "admin",
            {
                let adds = changes(|it| {
                    it.add(short_member("erin", 5));
                });
                let by_carol = text(&next(dismissed, 3, &adds));
                let line = admin("carol", 2, 3, 1);
                let lines = format!("{}{line}", admin("bob", 2, 2, 1));
                signed(&by_carol.replace(&line, &lines), 3)
            },
            dismissed,
        ),
        (
            "chain-admin-appointed-again",
            "an admin signs with a later appointment than the one held",
            "admin",
            {
                let again = changes(|it| {
                    it.dismiss(name("bob")).appoint(name("bob"));
                });
                let later = text(&next(by_admin, 1, &again));
                signed(&with_rights(&later, "signer bob\n"), 2)
            },
            by_admin,
        ),
    ]
}
