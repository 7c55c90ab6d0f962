//! Tests of methods, rules and repetitions.

use endseal_nostr::event::Event;
use endseal_nostr::key::public_to_hex;

use super::*;

#[test]
fn each_method_has_its_answer() {
    let mut world = World::new();
    let client =
        world.paired("all", allow("sign,nip44_encrypt,nip44_decrypt,nip04_encrypt,nip04_decrypt"));
    let user = String::from_utf8(public_to_hex(world.user.public_key()).to_vec()).unwrap();
    assert_eq!(world.call(&client, "ping", &[]), Answer::result("pong"));
    assert_eq!(world.call(&client, "get_public_key", &[]), Answer::result(&user));
    let signed = world.call(&client, "sign_event", &[&note(1, "\\u00e9")]).result.unwrap();
    let event = Event::parse(signed.as_bytes()).unwrap();
    assert_eq!(event.verify().unwrap().to_bytes(), world.user.public_key().to_bytes());
    assert!(event.content.is("é") && event.kind == 1 && event.created_at == 1);
    let peer = client.public_hex();
    for (encrypt, decrypt) in
        [("nip44_encrypt", "nip44_decrypt"), ("nip04_encrypt", "nip04_decrypt")]
    {
        let text = "\"quoted\" and\nmore é";
        let payload = world.call(&client, encrypt, &[&peer, text]).result.unwrap();
        assert_eq!(world.call(&client, decrypt, &[&peer, &payload]), Answer::result(text));
        let failed = Answer::error("decryption failed");
        assert_eq!(world.call(&client, decrypt, &[&peer, "AAAA"]), failed);
    }
    for method in ["nip44_decrypt_batch", "nip17_unwrap_batch", "", "Ping"] {
        let answer = world.call(&client, method, &[]);
        assert_eq!(answer, Answer::error("the method is not supported"), "{method}");
    }
    for (method, params) in [
        ("sign_event", &[][..]),
        ("sign_event", &["{}"]),
        ("sign_event", &["not JSON"]),
        ("nip44_encrypt", &[peer.as_str()]),
        ("nip44_encrypt", &["x", "text"]),
    ] {
        assert!(world.call(&client, method, params).error.is_some(), "{method} {params:?}");
    }
    let other = format!("{{\"pubkey\":\"{peer}\",{}", &note(1, "x")[1..]);
    let answer = world.call(&client, "sign_event", &[&other]);
    assert_eq!(answer, Answer::error("the event names another author"));
}

#[test]
fn what_no_rule_allows_is_denied_and_logged() {
    let mut world = World::new();
    let client = world.paired("notes", allow("sign:1"));
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
    let denied = Answer::error("not allowed");
    let peer = client.public_hex();
    assert_eq!(world.call(&client, "sign_event", &[&note(4, "x")]), denied);
    assert_eq!(world.call(&client, "nip44_decrypt", &[&peer, "x"]), denied);
    assert_eq!(world.call(&client, "nip44_encrypt", &[&peer, "x"]), denied);
    assert_eq!(world.verdicts(), ["allowed", "denied", "denied", "denied"]);
    let lines = world.lines();
    let last = lines.last().unwrap();
    assert_eq!(
        (last.method.as_deref(), last.peer.as_deref()),
        (Some("nip44_encrypt"), Some(peer.as_str()))
    );
    assert!(matches!(world.command(Command::Verify), Ok(Reply::Verified { lines: 9, .. })));
}

#[test]
fn counts_and_rates_end_and_no_restart_gives_them_back() {
    let mut world = World::new();
    let mut grants = allow("sign:1");
    grants[0].uses = Some(2);
    let client = world.paired("notes", grants);
    for content in ["a", "b"] {
        assert!(world.call(&client, "sign_event", &[&note(1, content)]).result.is_some());
    }
    let limit = Answer::error("not allowed: the limit is reached");
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "c")]), limit);
    let mut world = world.restarted();
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "d")]), limit);
}

#[test]
fn a_repetition_has_the_same_answer_and_costs_no_use() {
    let mut world = World::new();
    let mut grants = allow("sign:1,nip44_encrypt");
    grants[0].uses = Some(1);
    let client = world.paired("notes", grants);
    let event = client.request(world.now, "r1", "sign_event", &[&note(1, "a")]);
    let first = world.send(&client, &event);
    assert!(first[0].result.is_some());
    // The same event has no response. The same request in another event has the same response.
    assert_eq!(world.send(&client, &event), []);
    for _ in 0..3 {
        assert_eq!(world.call(&client, "sign_event", &[&note(1, "a")]), first[0]);
        world = world.restarted();
        assert_eq!(world.send(&client, &event), []);
    }
    assert_eq!(world.verdicts(), ["allowed"]);
    // The same id with another content is another request.
    let limit = Answer::error("not allowed: the limit is reached");
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "b")]), limit);
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "b")]), limit);
    assert_eq!(world.verdicts(), ["allowed", "limit"]);
}

#[test]
fn bearer_tokens_and_log_ins_are_bound_to_their_place() {
    let mut world = World::new();
    let client = world.paired("web", allow("sign"));
    let token = |url: &str| {
        format!(
            "{{\"kind\":27235,\"created_at\":{NOW},\"tags\":[[\"u\",\"{url}\"],[\"method\",\"GET\"]],\
             \"content\":\"\"}}"
        )
    };
    let denied = Answer::error("not allowed");
    assert_eq!(world.call(&client, "sign_event", &[&token("https://x.example/")]), denied);
    let grant = |rules: &str, lifetime| {
        let mut grants = allow(rules);
        grants[0].lifetime = lifetime;
        Command::Grant { app: "web".to_owned(), grants }
    };
    for (rules, lifetime) in [
        ("sign:27235", None),
        ("sign:27235", Some(60)),
        ("sign:27235:GET https://x.example/", None),
        ("sign:27235:GET https://x.example/", Some(90 * 86_400 + 1)),
        ("sign:27235:https://x.example/path", Some(60)),
        ("sign:1:GET https://x.example/", Some(60)),
    ] {
        let refused = world.command(grant(rules, lifetime));
        let is_malformed = matches!(refused, Err(CommandError::Invalid(_)));
        assert!(is_malformed || matches!(refused, Err(CommandError::Credential(_))), "{rules}");
    }
    assert!(world.command(grant("sign:27235:GET https://x.example/", Some(600))).is_ok());
    let second = token("https://x.example/").replace(&NOW.to_string(), &(NOW + 3).to_string());
    assert!(world.call(&client, "sign_event", &[&second]).result.is_some());
    assert_eq!(world.call(&client, "sign_event", &[&token("https://y.example/")]), denied);
    world.now += 600;
    let fresh = token("https://x.example/").replace(&NOW.to_string(), &(NOW + 2).to_string());
    assert_eq!(world.call(&client, "sign_event", &[&fresh]), denied);
    for offset in [-601, 601, 31_536_000] {
        let time = world.now.checked_add_signed(offset).unwrap();
        let other = token("https://x.example/").replace(&NOW.to_string(), &time.to_string());
        assert!(
            world.call(&client, "sign_event", &[&other]).error.unwrap().contains("ten minutes")
        );
    }
    // A whole site, in any form and for days.
    assert!(world.command(grant("sign:27235:https://X.example:443/", Some(86_400))).is_ok());
    let elsewhere = |url: &str| token(url).replace(&NOW.to_string(), &world.now.to_string());
    let (here, there) = (elsewhere("https://x.example/any?a"), elsewhere("https://x.example.y/"));
    assert!(world.call(&client, "sign_event", &[&here]).result.is_some());
    assert_eq!(world.call(&client, "sign_event", &[&there]), denied);
    let unclear = token("https://x.example/").replace("[[", "[[\"u\",\"https://z\"],[");
    assert!(world.call(&client, "sign_event", &[&unclear]).error.unwrap().contains("tag"));
}

#[test]
fn a_locked_signer_says_so() {
    let mut world = World::new();
    let client = world.paired("notes", allow("sign,nip44_encrypt"));
    assert!(world.command(Command::Lock).is_ok());
    let locked = Answer::error("the signer is locked");
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "x")]), locked);
    assert_eq!(world.call(&client, "ping", &[]), Answer::result("pong"));
    let unlock = |passphrase: &str| Request {
        command: Command::Unlock,
        secret: Zeroizing::new(passphrase.as_bytes().to_vec()),
    };
    let wrong = world.engine.command(world.now, unlock("wrong")).0;
    assert!(matches!(wrong, Err(CommandError::Passphrase)));
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "x")]), locked);
    assert!(world.engine.command(world.now, unlock(PASSPHRASE)).0.is_ok());
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
    let matters: Vec<_> = world.lines().into_iter().map(|line| line.matter).collect();
    assert_eq!(matters[matters.len() - 3..], ["locked", "unlocked", "request"]);
}

#[test]
fn gift_wraps_are_released_by_the_kind_of_their_rumor() {
    use endseal_nostr::event::Template;
    use endseal_nostr::gift_wrap::{Layer, Lifetime, Wrapping, wrap};

    let mut world = World::new();
    let client = world.paired("chat", allow("unwrap:14"));
    let unsupported = Answer::error("the method is not supported");
    assert_eq!(world.call(&client, "nip17_unwrap_batch", &["[]"]), unsupported);
    world.engine.set_unwrap_batch(true);
    let author = SigningKey::new(SecretKey::from_bytes(&[5; 32]).unwrap());
    let receiver = *world.user.public_key();
    let wrapped = |kind: u16| {
        let template = note(kind, "hello");
        let template = Template::parse(template.as_bytes()).unwrap();
        let layer = || Layer { created_at: NOW, expiration: None };
        let wrapping = Wrapping { seal: layer(), wrap: layer(), lifetime: Lifetime::Stored };
        let (mut scratch, mut out) = ([0; 8_192], [0; 8_192]);
        let json =
            wrap(&template, &author, &receiver, &wrapping, &mut OsRandom, &mut scratch, &mut out);
        String::from_utf8(json.unwrap().to_vec()).unwrap()
    };
    let list = format!("[{},{},{{}},1]", wrapped(14), wrapped(15));
    let answer = world.call(&client, "nip17_unwrap_batch", &[&list]).result.unwrap();
    let results: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(results[0]["rumor"]["content"], "hello");
    assert_eq!(results[0]["sender"], results[0]["rumor"]["pubkey"]);
    assert_eq!(results[1]["error"], "not allowed");
    assert_eq!(results[2]["error"], "decryption failed");
    assert_eq!(results[3]["error"], "decryption failed");
    assert_eq!(world.call(&client, "nip17_unwrap_batch", &["{}"]).result, None);
    // A repetition is decided again, and counted.
    let mut grants = allow("unwrap:14");
    grants[0].uses = Some(1);
    let client = world.paired("once", grants);
    let list = format!("[{},{}]", wrapped(14), wrapped(14));
    for released in [1, 0] {
        let answer = world.call(&client, "nip17_unwrap_batch", &[&list]).result.unwrap();
        assert_eq!(answer.matches("\"rumor\"").count(), released, "{answer}");
    }
}

#[test]
fn a_list_of_rules_is_no_scope() {
    let mut world = World::new();
    let rules = "sign:22242:wss://evil.example,sign:4";
    let grants = vec![allow("sign").remove(0), grant(GrantEffect::Deny, rules)];
    let client = world.paired("web", grants);
    assert_eq!(world.call(&client, "sign_event", &[&note(4, "x")]), Answer::error("not allowed"));
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
    let texts: Vec<_> = world.rules("web").into_iter().map(|rule| rule.text).collect();
    assert_eq!(texts.len(), 3);
    assert!(texts[1].starts_with("sign:22242:#") && texts[2] == "sign:4");
}

#[test]
fn the_line_of_a_removed_rule_has_its_text() {
    let mut world = World::new();
    let peer = "nip44_decrypt:npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d";
    world.paired("web", vec![allow("sign:1-3").remove(0), grant(GrantEffect::Deny, peer)]);
    for rule in [1, 2] {
        assert!(world.command(Command::RemoveRule { app: "web".to_owned(), rule }).is_ok());
    }
    let again = world.command(Command::RemoveRule { app: "web".to_owned(), rule: 2 });
    assert!(matches!(again, Err(CommandError::NoRule(2))));
    let lines = world.lines().into_iter().filter(|it| it.matter == "rule_removed");
    let lines: Vec<_> = lines.map(|it| (it.rule, it.app, it.name)).collect();
    let second = format!("deny {peer}");
    assert_eq!(
        lines,
        [(Some(1), Some(1), "allow sign:1-3".to_owned()), (Some(2), Some(1), second)]
    );
}
