//! The extension method `nip17_unwrap_batch` of remote signing.

use endseal_nostr::connect::{
    CallError, ExecuteError, MAX_BATCH, Request, UnwrapBatch, UnwrapResults, unwrap_item,
};
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::gift_wrap::{Layer, Lifetime, UnwrapError, Wrapping, max_wrapped_len, wrap};
use endseal_nostr::key::SigningKey;
use endseal_nostr::policy::{Action, Effect, Pattern, Verdict, decide};
use serde_json::{Value, json};

use crate::fixture::{FixedRandom, key};
use crate::hex;

fn request(params: &Value) -> Vec<u8> {
    let request = json!({"id": "1", "method": "nip17_unwrap_batch", "params": params});
    request.to_string().into_bytes()
}

fn parsed(json: &mut [u8]) -> Request<'_> {
    Request::parse(json).unwrap_or_else(|error| panic!("{error}"))
}

fn wrapped(receiver: &SigningKey, kind: u16, lifetime: Lifetime) -> String {
    let sender = SigningKey::new(key("sender"));
    let rumor =
        Template { pubkey: None, created_at: 9, kind, tags: Tags::NONE, content: "\"é\"".into() };
    let layer = Layer { created_at: 9, expiration: None };
    let wrapping = Wrapping { seal: layer, wrap: layer, lifetime };
    let len = max_wrapped_len(500).unwrap();
    let (mut scratch, mut out) = (vec![0; len], vec![0; len]);
    let mut random = FixedRandom::new(1);
    let receiver = receiver.public_key();
    let json =
        wrap(&rumor, &sender, receiver, &wrapping, &mut random, &mut scratch, &mut out).unwrap();
    String::from_utf8(json.to_vec()).unwrap()
}

#[test]
fn each_is_opened_and_judged_by_its_kind() {
    let user = SigningKey::new(key("user"));
    let other = SigningKey::new(key("other"));
    let wraps = [
        wrapped(&user, 14, Lifetime::Stored),
        wrapped(&other, 14, Lifetime::Stored),
        wrapped(&user, 15, Lifetime::Stored),
        wrapped(&user, 14, Lifetime::Ephemeral),
        "7".to_owned(),
    ];
    let mut json = request(&json!([format!("[ {} ]", wraps.join(" , "))]));
    let request = parsed(&mut json);
    assert_eq!(request.call().err(), Some(CallError::Method), "it is off by default");
    let batch = UnwrapBatch::of(&request).unwrap().unwrap();
    assert_eq!(
        (batch.len(), batch.iter().collect::<Vec<_>>()),
        (5, wraps.each_ref().map(String::as_str).to_vec())
    );

    let rules = [Pattern::parse("unwrap:14").unwrap().rule(Effect::Allow, 1, 0)];
    let failed = ExecuteError::Decryption.to_string();
    let mut out = vec![0; 10_000];
    let mut results = UnwrapResults::new(&mut out);
    for wrap in batch.iter() {
        let mut scratch = vec![0; wrap.len()];
        match unwrap_item(wrap, user.secret_key(), &mut scratch) {
            Err(_) => results.error(&failed),
            Ok(unwrapped) => {
                let action = Action::Unwrap { kind: unwrapped.rumor.kind };
                match decide(&rules, &action, 1).verdict {
                    Verdict::Allow => results.rumor(&unwrapped),
                    _ => results.error("not allowed"),
                }
            }
        }
    }
    let results: Value = serde_json::from_str(results.finish().unwrap()).unwrap();
    let sender = hex(&key("sender").public_key().to_bytes());
    assert_eq!(results[0]["sender"], sender);
    assert_eq!(results[0]["rumor"]["content"], "\"é\"");
    assert_eq!(results[0]["rumor"]["pubkey"], sender);
    let failed = json!({"error": "decryption failed"});
    assert_eq!(
        results.as_array().unwrap()[1..],
        [failed.clone(), json!({"error": "not allowed"}), failed.clone(), failed,]
    );
    let mut short = [0; 10];
    assert_eq!(unwrap_item(&wraps[0], user.secret_key(), &mut short), Err(UnwrapError::Wrap));
}

#[test]
fn a_batch_is_an_array_of_a_hundred_at_most() {
    let list = |count: usize| json!([format!("[{}]", vec!["{}"; count].join(","))]);
    for (params, outcome) in [
        (list(0), Ok(0)),
        (list(MAX_BATCH), Ok(MAX_BATCH)),
        (list(MAX_BATCH + 1), Err(CallError::Batch)),
        (json!([]), Err(CallError::Params)),
        (json!([""]), Err(CallError::Batch)),
        (json!(["{}"]), Err(CallError::Batch)),
        (json!(["[1"]), Err(CallError::Batch)),
        (json!(["[] []"]), Err(CallError::Batch)),
        (json!(["[[[[[[[[[]]]]]]]]]"]), Err(CallError::Batch)),
    ] {
        let mut json = request(&params);
        let batch = UnwrapBatch::of(&parsed(&mut json)).unwrap();
        assert_eq!(batch.map(|batch| batch.len()), outcome, "{params}");
    }
    let mut json = br#"{"id":"1","method":"ping","params":["[]"]}"#.to_vec();
    assert!(UnwrapBatch::of(&parsed(&mut json)).is_none());
    let mut out = [0; 2];
    assert_eq!(UnwrapResults::new(&mut out).finish(), Ok("[]"));
    assert!(UnwrapResults::new(&mut out[..1]).finish().is_err());
}
