//! Requests of a host.

use endseal_nostr::event::Event;

use crate::board::{Person, Rig, TestFlash};

const SECRET: &str = "0000000000000000000000000000000000000000000000000000000000000003";
const PUBLIC: &str = "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9";
const PEER: &str = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5";
const EVENT: &str = r#"{"created_at":1700000000,"kind":1,"tags":[],"content":"at noon \"x\""}"#;

fn rig() -> Rig {
    let mut rig = Rig::start(&TestFlash::new());
    assert_eq!(rig.call("import_key", &[SECRET]).as_deref(), Ok(PUBLIC));
    rig
}

fn is(found: Result<String, String>, error: &str) {
    assert_eq!(found, Err(error.to_owned()));
}

#[test]
fn a_new_device_creates_a_key_and_signs() {
    let mut rig = Rig::start(&TestFlash::new());
    is(rig.call("get_public_key", &[]), "the device has no key");
    is(rig.call("sign_event", &[EVENT]), "the device has no key");
    assert_eq!(rig.board.0.borrow().asked, 0);
    let key = rig.call("create_key", &[]).unwrap();
    assert_eq!(rig.call("get_public_key", &[]), Ok(key.clone()));
    is(rig.call("create_key", &[]), "the device has a key already");
    is(rig.call("import_key", &[SECRET]), "the device has a key already");
    let signed = rig.call("sign_event", &[EVENT]).unwrap();
    let event = Event::parse(signed.as_bytes()).unwrap();
    event.verify().unwrap();
    assert!(signed.contains(&key) && signed.contains(r#"at noon \"x\""#), "{signed}");
    assert_eq!(rig.board.0.borrow().asked, 2);
}

#[test]
fn texts_are_encrypted_and_decrypted_again() {
    let mut rig = rig();
    for method in ["nip44", "nip04"] {
        let encrypted = rig.call(&format!("{method}_encrypt"), &[PEER, "on the bridge"]).unwrap();
        let decrypted = rig.call(&format!("{method}_decrypt"), &[PEER, &encrypted]);
        assert_eq!(decrypted.as_deref(), Ok("on the bridge"));
        is(rig.call(&format!("{method}_decrypt"), &[PEER, "AgAA"]), "decryption failed");
    }
    assert_eq!(rig.board.0.borrow().asked, 7);
}

#[test]
fn a_person_who_refuses_or_is_away_is_an_error() {
    let mut rig = rig();
    rig.board.0.borrow_mut().person = Person::Refuses;
    is(rig.call("sign_event", &[EVENT]), "not allowed");
    is(rig.call("erase_key", &[PUBLIC]), "not allowed");
    rig.board.0.borrow_mut().person = Person::IsAway;
    is(rig.call("nip44_encrypt", &[PEER, "x"]), "not allowed: no decision in time");
    assert_eq!(rig.call("ping", &[]).as_deref(), Ok("pong"));
    assert_eq!(rig.call("get_public_key", &[]).as_deref(), Ok(PUBLIC));
}

#[test]
fn the_setting_lets_encryption_pass_and_no_signature() {
    let mut rig = rig();
    assert_eq!(rig.call("get_confirmation", &[]).as_deref(), Ok("all"));
    rig.board.0.borrow_mut().person = Person::Refuses;
    is(rig.call("set_confirmation", &["signatures"]), "not allowed");
    rig.board.0.borrow_mut().person = Person::Allows;
    is(rig.call("set_confirmation", &["none"]), "a parameter is absent");
    assert_eq!(rig.call("set_confirmation", &["signatures"]).as_deref(), Ok("ack"));
    assert_eq!(rig.call("get_confirmation", &[]).as_deref(), Ok("signatures"));
    rig.board.0.borrow_mut().person = Person::IsAway;
    let encrypted = rig.call("nip44_encrypt", &[PEER, "x"]).unwrap();
    assert_eq!(rig.call("nip44_decrypt", &[PEER, &encrypted]).as_deref(), Ok("x"));
    let late = "not allowed: no decision in time";
    is(rig.call("sign_event", &[EVENT]), late);
    is(rig.call("erase_key", &[PUBLIC]), late);
    is(rig.call("set_confirmation", &["all"]), late);
}

#[test]
fn a_byte_of_the_host_withdraws_and_begins_the_next_line() {
    let mut rig = rig();
    let next = br#"{"id":"8","method":"ping"}"#;
    rig.board.0.borrow_mut().interruption.extend([next[0]]);
    let first = format!(
        "{}\n",
        serde_json::json!({ "id": "7", "method": "sign_event", "params": [EVENT] })
    );
    let answer = rig.send(first.as_bytes());
    assert_eq!(answer, "{\"id\":\"7\",\"error\":\"withdrawn\"}\n");
    let answer = rig.send(&[&next[1..], b"\n"].concat());
    assert_eq!(answer, "{\"id\":\"8\",\"result\":\"pong\"}\n");
}

#[test]
fn a_key_is_erased_if_it_is_named() {
    let flash = TestFlash::new();
    let mut rig = Rig::start(&flash);
    is(rig.call("erase_key", &[PUBLIC]), "the device has no key");
    rig.call("import_key", &[SECRET]).unwrap();
    is(rig.call("erase_key", &[PEER]), "the key is not the key of the device");
    assert_eq!(rig.call("erase_key", &[PUBLIC]).as_deref(), Ok("ack"));
    is(rig.call("get_public_key", &[]), "the device has no key");
    let secret = [&[0; 31][..], &[3]].concat();
    assert!(!flash.0.borrow().bytes.windows(32).any(|it| it == secret));
    assert!(rig.call("create_key", &[]).is_ok());
}

#[test]
fn nothing_that_a_host_sends_stops_the_device() {
    let mut rig = rig();
    let no_request = "{\"id\":\"\",\"error\":\"the line is no request\"}\n";
    for line in ["x", "{}", "[]", "{\"id\":7,\"method\":\"ping\"}", "\u{0}", "{\"id\":\"1\""] {
        assert_eq!(rig.send(format!("{line}\n").as_bytes()), no_request, "{line}");
    }
    assert_eq!(rig.send(b"\xff\xfe\n"), no_request);
    assert_eq!(rig.send(b"\n\r\n\n"), "");
    let long = [vec![b' '; 32_769], b"\n".to_vec()].concat();
    assert_eq!(rig.send(&long), "{\"id\":\"\",\"error\":\"the line is too long\"}\n");
    for (method, params, error) in [
        ("logout", &[][..], "the method is not supported"),
        ("connect", &[PEER], "the method is not supported"),
        ("get_secret_key", &[], "the method is not supported"),
        ("sign_event", &[], "a parameter is absent"),
        ("nip44_encrypt", &[PEER], "a parameter is absent"),
    ] {
        is(rig.call(method, params), error);
    }
    // Random bytes and changed requests: each line has at most one answer, and the device lives.
    let mut seed = 7_u64;
    let valid = serde_json::json!({ "id": "1", "method": "nip44_encrypt", "params": [PEER, "x"] });
    for round in 0..2_000 {
        let mut line = valid.to_string().into_bytes();
        for _ in 0..=round % 4 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let at = (seed >> 33) as usize % line.len();
            line[at] = (seed >> 24) as u8;
        }
        line.push(b'\n');
        let lines = line.iter().filter(|byte| **byte == b'\n').count();
        assert!(rig.send(&line).matches('\n').count() <= lines);
    }
    assert_eq!(rig.call("ping", &[]).as_deref(), Ok("pong"));
}

#[test]
fn an_answer_that_is_too_long_is_an_error_with_its_id() {
    let mut rig = rig();
    is(rig.call("nip44_encrypt", &[PEER, &"x".repeat(28_000)]), "the answer is too long");
    // Each control character has six characters in JSON.
    let text = "\u{1}".repeat(5_000);
    let encrypted = rig.call("nip44_encrypt", &[PEER, &text]).unwrap();
    assert_eq!(rig.call("nip44_decrypt", &[PEER, &encrypted]), Ok(text));
    let id = "i".repeat(32_740);
    let answer = rig.send(format!("{{\"id\":\"{id}\",\"method\":\"x\"}}\n").as_bytes());
    assert!(answer == "{\"id\":\"\",\"error\":\"the method is not supported\"}\n");
}

#[test]
fn a_random_source_that_fails_makes_nothing() {
    let mut rig = Rig::start(&TestFlash::new());
    rig.board.0.borrow_mut().has_randomness = false;
    is(rig.call("create_key", &[]), "the random source failed");
    is(rig.call("get_public_key", &[]), "the device has no key");
    rig.call("import_key", &[SECRET]).unwrap();
    is(rig.call("sign_event", &[EVENT]), "the random source failed");
    is(rig.call("nip44_encrypt", &[PEER, "x"]), "the random source failed");
}

#[test]
fn no_answer_has_the_secret_key() {
    let mut rig = rig();
    let mut answers = String::new();
    for (method, params) in [
        ("get_public_key", &[][..]),
        ("get_confirmation", &[]),
        ("import_key", &[SECRET]),
        ("sign_event", &[EVENT]),
        ("nip44_encrypt", &[PEER, "x"]),
        ("export_key", &[]),
    ] {
        answers.push_str(&format!("{:?}\n", rig.call(method, params)));
    }
    answers.push_str(&rig.send(format!("{{\"id\":\"{SECRET}\n").as_bytes()));
    assert!(!answers.contains(SECRET), "{answers}");
}
