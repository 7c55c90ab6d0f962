//! The address book: adding, naming and parsing contacts.

use endseal_keyring::Contacts;
use endseal_keyring::address_book::{ChangeBookError, EntryProblem, MAX_LEN, ParseBookError};
use endseal_keyring::{IdentityText, InvalidName, ParseIdentityError};

use crate::people::{identity, name, numbered, short};

fn two() -> Contacts {
    let mut contacts = Contacts::new();
    contacts.add(name("alice"), short(1)).unwrap();
    contacts.add(name("bob"), identity(2).public().clone()).unwrap();
    contacts
}

#[test]
fn contacts_are_found_by_name_and_by_key() {
    let contacts = two();
    assert_eq!(contacts.find("alice"), Some(&short(1)));
    assert_eq!(contacts.find("carol"), None);
    assert_eq!(contacts.name_of(short(2).ed25519()), Some(&name("bob")));
    assert_eq!(contacts.name_of(short(3).ed25519()), None);
    assert_eq!(contacts.len(), 2);
}

#[test]
fn the_text_is_canonical() {
    let contacts = two();
    let text = contacts.to_text();
    assert_eq!(Contacts::parse(text.as_bytes()).unwrap(), contacts);
    let (_, entries) = text.split_once('\n').unwrap();
    let edited: Vec<&str> = entries.lines().rev().collect();
    let edited = format!("\r\n# mine\n\t{}\r\n", edited.join("  \r\n\n  "));
    assert_eq!(Contacts::parse(edited.as_bytes()).unwrap().to_text(), text);
}

#[test]
fn duplicates_are_refused_and_change_nothing() {
    let mut contacts = two();
    let as_alice = ChangeBookError::DuplicateEntry { name: name("alice") };
    assert_eq!(contacts.add(name("bob"), short(3)), Err(ChangeBookError::DuplicateName));
    assert_eq!(contacts.add(name("carol"), short(1)), Err(as_alice.clone()));
    // The long form of an identity is the same contact.
    assert_eq!(contacts.add(name("carol"), identity(1).public().clone()), Err(as_alice.clone()));
    assert_eq!(contacts.replace(&name("bob"), short(1)), Err(as_alice));
    assert_eq!(contacts.replace(&name("carol"), short(3)), Err(ChangeBookError::Unknown));
    let renamed = contacts.rename(&name("alice"), name("bob"));
    assert_eq!(renamed, Err(ChangeBookError::DuplicateName));
    assert_eq!(contacts.rename(&name("x"), name("y")), Err(ChangeBookError::Unknown));
    assert_eq!(contacts.remove(&name("x")), Err(ChangeBookError::Unknown));
    assert_eq!(contacts, two());
}

#[test]
fn entries_are_renamed_replaced_and_removed() {
    let mut contacts = two();
    contacts.rename(&name("alice"), name("alice")).unwrap();
    contacts.rename(&name("alice"), name("anna")).unwrap();
    assert_eq!(contacts.name_of(short(1).ed25519()), Some(&name("anna")));
    assert_eq!(contacts.replace(&name("anna"), identity(1).public().clone()), Ok(short(1)));
    assert!(contacts.find("anna").unwrap().mlkem768().is_some());
    contacts.remove(&name("anna")).unwrap();
    assert_eq!(contacts.name_of(short(1).ed25519()), None);
    contacts.add(name("alice"), short(1)).unwrap();
    assert_eq!(contacts, two());
}

#[test]
fn errors_have_the_line() {
    let alice = IdentityText::from(short(1));
    let why = |text: String| match Contacts::parse(text.as_bytes()).unwrap_err() {
        ParseBookError::Line { line, problem } => (line, problem),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(format!("\n#\nBob {alice}")), (3, EntryProblem::Name(InvalidName::UpperCase)));
    assert_eq!(
        why(format!("a {alice}\nb {alice}")),
        (2, EntryProblem::DuplicateEntry { name: name("a") })
    );
    assert_eq!(
        why(format!("a {alice}\n\na {}", IdentityText::from(short(2)))),
        (3, EntryProblem::DuplicateName)
    );
    assert_eq!(why(String::from("a")), (1, EntryProblem::Words));
    assert_eq!(why(format!("a {alice} x")), (1, EntryProblem::Words));
    assert_eq!(
        why(format!("\na age1{}", "q".repeat(58))).1,
        EntryProblem::Entry(ParseIdentityError::Foreign(endseal_keyring::ForeignKey::Age))
    );
    let low = "endseal1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqutp8u2";
    assert_eq!(why(format!("\na {alice}\nb {low}")).0, 3);
    let error = Contacts::parse(b"a\n\xff b").unwrap_err();
    assert_eq!(error.to_string(), "line 1: expected a name, a space and an identity");
    let error = Contacts::parse(b"\n\xff b").unwrap_err();
    assert_eq!(error.to_string(), "line 2: not text in UTF-8");
    let long = vec![b'\n'; MAX_LEN + 1];
    assert_eq!(Contacts::parse(&long), Err(ParseBookError::TooLong));
}

#[test]
fn ten_thousand_contacts_round_trip() {
    let mut contacts = Contacts::new();
    for n in 0..10_000 {
        contacts.add(name(&format!("n{n}")), numbered(n)).unwrap();
    }
    assert_eq!(Contacts::parse(contacts.to_text().as_bytes()).unwrap(), contacts);
}
