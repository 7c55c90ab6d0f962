use super::*;

#[test]
fn whole_objects_get_a_zero_and_multipart_ones_stay() {
    for (backend, client) in [
        ("d41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e-0"),
        ("\"abc\"", "\"abc-0\""),
        ("W/\"abc\"", "W/\"abc-0\""),
        ("\"abc-1\"", "\"abc-1\""),
        ("\"abc-10000\"", "\"abc-10000\""),
        // None of these ends in a number of parts.
        ("\"abc-10001\"", "\"abc-10001-0\""),
        ("\"abc-01\"", "\"abc-01-0\""),
        ("\"abc-+1\"", "\"abc-+1-0\""),
        ("\"abc-\"", "\"abc--0\""),
        ("\"abc-0\"", "\"abc-0-0\""),
        ("\"\"", "\"-0\""),
        ("", "-0"),
    ] {
        assert_eq!(to_client(backend), client);
        assert_eq!(to_backend(client), backend);
    }
}

#[test]
fn what_clients_were_never_given_names_nothing() {
    for tag in ["abc", "\"abc\"", "abc-1-0", "W/\"x\"", "abc-10001", "\"-3-0\""] {
        let backend = to_backend(tag);
        assert!(backend.trim_end_matches('"').ends_with("-0"), "{tag}: {backend}");
        assert!(!is_multipart(Quoted::new(&backend).opaque));
    }
}

/// Over all short tags: two backends' tags never have one name, and the way back is exact.
#[test]
fn the_mapping_has_one_inverse() {
    let alphabet = ["", "-", "0", "1", "a"];
    let mut seen = std::collections::BTreeMap::new();
    for n in 0..alphabet.len().pow(6) {
        let tag: String = (0..6).map(|i| alphabet[n / alphabet.len().pow(i) % 5]).collect();
        let client = to_client(&tag);
        assert_eq!(to_backend(&client), tag);
        assert_eq!(*seen.entry(client.clone()).or_insert(tag.clone()), tag, "{client}");
    }
    for n in 0..alphabet.len().pow(6) {
        let client: String = (0..6).map(|i| alphabet[n / alphabet.len().pow(i) % 5]).collect();
        if !seen.contains_key(&client) {
            let backend = to_backend(&client);
            assert_eq!(backend.rsplit_once('-').map(|(_, number)| number), Some("0"), "{client}");
        }
    }
}

#[test]
fn lists_are_translated_tag_by_tag() {
    for (client, backend) in [
        ("*", "*"),
        (" * ", "*"),
        ("\"a-0\", *", "*"),
        ("*,\"a-0\"", "*"),
        ("\"*-0\", \"a,*-0\"", "\"*\", \"a,*\""),
        ("\"a-0\"", "\"a\""),
        ("\"a-0\", \"b-3\",W/\"c-0\"", "\"a\", \"b-3\", W/\"c\""),
        ("a-0", "a"),
        ("\"a,b-0\" , \"c-0\"", "\"a,b\", \"c\""),
        ("\"a\"", "\"a-0\""),
        (", ,", ""),
        ("\"a-0", "\"a"),
    ] {
        assert_eq!(list_to_backend(client), backend);
    }
}

#[test]
fn part_tags_carry_the_salt() {
    let salt = [0xa5; SALT_LEN];
    let tag = PartTag::new("\"abc-def\"", Some(salt));
    let text = format!("\"abc-def-{}\"", "a5".repeat(24));
    assert_eq!(tag.encode(), text);
    for text in [text.as_str(), text.trim_matches('"')] {
        let parsed = PartTag::parse(text).unwrap();
        assert_eq!(parsed, tag);
        assert_eq!((parsed.backend(), parsed.salt()), ("abc-def", Some(salt)));
    }
    let listed = PartTag::new("abc", None);
    assert_eq!(listed.encode(), "\"abc-0\"");
    assert_eq!(PartTag::parse("\"abc-0\""), Ok(listed));
}

#[test]
fn other_part_tags_are_refused() {
    let digits = "a5".repeat(24);
    for tag in [
        String::new(),
        "abc".to_owned(),
        "\"abc\"".to_owned(),
        "abc-".to_owned(),
        "abc-1".to_owned(),
        "-0".to_owned(),
        format!("abc-{}", &digits[1..]),
        format!("abc-{digits}a5"),
        format!("abc-{}", digits.to_uppercase()),
        format!("abc-{}", "00".repeat(24)),
        format!("abc-{}g", &digits[1..]),
        format!("abc-{}\u{e9}", &digits[2..]),
        format!("W/\"abc-{digits}\""),
        format!("-{digits}"),
    ] {
        assert_eq!(PartTag::parse(&tag), Err(AuthenticationFailed), "{tag}");
    }
}
