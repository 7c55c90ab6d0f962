//! Encrypted names of objects.

use endseal_s3_format::AuthenticationFailed;
use endseal_s3_format::names::{NameError, NameSecret, Names};

fn names() -> Names {
    Names::new(&NameSecret::from_bytes(&[5; 32]), "bucket")
}

#[test]
fn keys_come_back() {
    let names = names();
    for key in [
        "",
        "a",
        "a/b/c",
        "a/",
        "/",
        "//",
        "/a",
        "a//b",
        "a/b/",
        ".",
        "..",
        "a/../b",
        "\u{e9}/\u{4f60}",
        "with space+plus%percent",
        &"n".repeat(700),
    ] {
        let sealed = names.seal_key(key).unwrap();
        assert_eq!(names.open_key(&sealed).as_deref(), Ok(key));
        assert_eq!(names.seal_key(key).as_ref(), Ok(&sealed), "always the same");
        assert_eq!(sealed.matches('/').count(), key.matches('/').count());
        let known = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
        assert!(sealed.chars().all(known), "{sealed}");
    }
}

#[test]
fn keys_of_a_folder_begin_with_the_folder() {
    let names = names();
    let folder = names.seal_key("photos/2024/").unwrap();
    for key in ["photos/2024/a", "photos/2024/b/c", "photos/2024/"] {
        assert!(names.seal_key(key).unwrap().starts_with(&folder));
    }
    // The same component in another folder or bucket, or under another secret, has another name.
    let component =
        |names: &Names, key| names.seal_key(key).unwrap().rsplit('/').next().unwrap().to_owned();
    let here = component(&names, "photos/a");
    assert_ne!(here, component(&names, "videos/a"));
    assert_ne!(here, component(&names, "a"));
    let secret = NameSecret::from_bytes(&[5; 32]);
    assert_ne!(here, component(&Names::new(&secret, "bucke"), "photos/a"));
    let other = NameSecret::from_bytes(&[6; 32]);
    assert_ne!(here, component(&Names::new(&other, "bucket"), "photos/a"));
}

#[test]
fn prefixes_are_translated_up_to_the_last_slash() {
    let names = names();
    for (prefix, folder, rest) in
        [("", "", ""), ("ph", "", "ph"), ("a/", "a/", ""), ("a/b/c", "a/b/", "c"), ("/", "/", "")]
    {
        let sealed = names.seal_key(folder).unwrap();
        assert_eq!(names.seal_prefix(prefix), Ok((sealed, rest)));
    }
}

#[test]
fn other_keys_are_refused() {
    let names = names();
    let sealed = names.seal_key("folder/name").unwrap();
    for at in 0..sealed.len() {
        // Replaced by another character of the alphabet, or by a slash.
        for other in ["A", "B", "_", "/"] {
            let changed = [&sealed[..at], other, &sealed[at + 1..]].concat();
            if changed != sealed {
                let opened = names.open_key(&changed);
                assert_eq!(opened, Err(AuthenticationFailed), "{changed}");
            }
        }
    }
    let (folder, name) = sealed.split_once('/').unwrap();
    for key in [
        format!("{name}/{folder}"),
        name.to_owned(),
        format!("{folder}/{folder}"),
        format!("{folder}//{name}"),
        format!("/{folder}/{name}"),
        format!("{folder}={name}"),
        format!("{folder}=/{name}"),
        "plain".to_owned(),
        "\u{e9}".to_owned(),
        "A".repeat(1_025),
        // The ciphertext of an empty component, which must stay empty instead.
        "A".repeat(22),
    ] {
        assert_eq!(names.open_key(&key), Err(AuthenticationFailed), "{key}");
    }
    let other = Names::new(&NameSecret::from_bytes(&[5; 32]), "other");
    assert_eq!(other.open_key(&sealed), Err(AuthenticationFailed));
}

#[test]
fn keys_without_room_are_refused() {
    let names = names();
    // A component of 752 bytes takes 1,024 characters.
    assert_eq!(names.seal_key(&"n".repeat(752)).map(|key| key.len()), Ok(1_024));
    assert_eq!(names.seal_key(&"n".repeat(753)), Err(NameError::TooLong));
    assert_eq!(names.seal_key(&"n/".repeat(100)), Err(NameError::TooLong));
    assert_eq!(names.seal_key(&"/".repeat(1_025)), Err(NameError::TooLong));
    assert_eq!(names.seal_prefix(&"n".repeat(2_000)), Ok((String::new(), &*"n".repeat(2_000))));
    assert_eq!(names.seal_prefix(&"n/".repeat(100)), Err(NameError::TooLong));
}
