//! Buffers and errors of executing and answering requests, beyond the sessions of the vectors.

use endseal_nostr::connect::{
    Answer, Call, Encryption, ExecuteError, Ignored, Incoming, MAX_EVENT, Message, Outcome,
    RespondError, ResponseKeys, Stamp, execute, execute_len, respond, response_len,
};
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::key::SigningKey;
use endseal_nostr::nip04;
use endseal_nostr::nip44::{Cache, Conversation};

use crate::fixture::key;

const STAMP: Stamp = Stamp { created_at: u64::MAX, nonce: [7; 32], aux: [0; 32] };

#[test]
fn an_answer_fits_the_buffers_that_its_length_says() {
    let transport = SigningKey::new(key("transport"));
    let client = key("client").public_key();
    let conversation = Conversation::new(transport.secret_key(), &client);
    let legacy = nip04::Key::new(transport.secret_key(), &client);
    for encryption in [Encryption::Nip44(&conversation), Encryption::Nip04(&legacy)] {
        let keys = ResponseKeys { transport: &transport, client: &client, encryption };
        for len in [0, 1, 31, 200, 65_535, 70_000] {
            let text = "\"".repeat(len);
            let answer = Answer::Text(&text);
            let needed = response_len(&answer, "id", &encryption).unwrap();
            let (mut scratch, mut out) = (vec![0xee; needed.scratch], vec![0; needed.event]);
            let event = respond(&answer, "id", &keys, &STAMP, &mut scratch, &mut out).unwrap();
            assert!(event.len() <= needed.event && event.len() + 20 > needed.event);
            let plaintext = answer.write("id", &mut vec![0; needed.scratch]).unwrap().len();
            assert!(scratch[..plaintext].iter().all(|byte| *byte == 0), "it is wiped");

            let needed = event.len();
            let short = respond(&answer, "id", &keys, &STAMP, &mut scratch, &mut out[..needed - 1]);
            assert!(matches!(short, Err(RespondError::Output(error)) if error.needed == needed));
            for cut in [1, plaintext, scratch.len() - plaintext + 1] {
                let end = scratch.len() - cut;
                scratch.fill(0xee);
                let short = respond(&answer, "id", &keys, &STAMP, &mut scratch[..end], &mut out);
                assert!(matches!(short, Err(RespondError::Output(_))));
                assert!(!scratch[..end].windows(9).any(|it| it == b"\"result\":"), "it is wiped");
            }
        }
    }
}

#[test]
fn execution_fits_the_buffer_that_its_length_says() {
    let user = SigningKey::new(key("user"));
    let peer = key("peer").public_key();
    let mut cache = Cache::<1>::new();
    let conversation = Conversation::new(user.secret_key(), &peer);
    let legacy = nip04::Key::new(user.secret_key(), &peer);
    let (mut payload, mut content) = ([0; 500], [0; 500]);
    let payload = conversation.seal(b"text", &[1; 32], Default::default(), &mut payload).unwrap();
    let content = legacy.encrypt(b"text", &[1; 16], &mut content).unwrap();
    let message = |text| Message { peer, text };
    for call in [
        Call::GetPublicKey,
        Call::Nip04Encrypt(message("text")),
        Call::Nip44Encrypt(message("text")),
        Call::Nip04Decrypt(message(content)),
        Call::Nip44Decrypt(message(payload)),
    ] {
        let needed = execute_len(&call).unwrap();
        let mut out = vec![0; needed];
        let mut run =
            |out: &mut [u8]| match execute(&call, &user, &mut cache, &[0; 32], &[1; 32], out) {
                Ok(Outcome::Text(text)) => Ok(text.to_owned()),
                Ok(_) => panic!("another outcome"),
                Err(error) => Err(error),
            };
        assert!(run(&mut out).is_ok_and(|text| !text.is_empty()));
        match run(&mut out[..needed - 1]) {
            Err(ExecuteError::Output(error)) => assert_eq!(error.needed, needed),
            _ => panic!("it does not fit"),
        }
    }
    for call in [Call::SwitchRelays, Call::Logout] {
        let outcome = execute(&call, &user, &mut cache, &[0; 32], &[1; 32], &mut []);
        assert!(matches!(outcome, Err(ExecuteError::Method)));
    }
}

#[test]
fn a_plaintext_that_is_no_text_is_one_more_failed_decryption() {
    let user = SigningKey::new(key("user"));
    let peer = key("peer").public_key();
    let conversation = Conversation::new(user.secret_key(), &peer);
    let legacy = nip04::Key::new(user.secret_key(), &peer);
    let (mut payload, mut content) = ([0; 500], [0; 500]);
    let payload = conversation.seal(b"\xff", &[1; 32], Default::default(), &mut payload).unwrap();
    let content = legacy.encrypt(b"\xff", &[1; 16], &mut content).unwrap();
    for call in [
        Call::Nip44Decrypt(Message { peer, text: payload }),
        Call::Nip04Decrypt(Message { peer, text: content }),
    ] {
        let mut cache = Cache::<1>::new();
        let mut out = [0; 500];
        let outcome = execute(&call, &user, &mut cache, &[0; 32], &[1; 32], &mut out);
        assert!(matches!(outcome, Err(ExecuteError::Decryption)));
    }
}

#[test]
fn an_event_is_bounded_before_it_is_read() {
    let client = SigningKey::new(key("client"));
    let hex = crate::hex(&key("transport").public_key().to_bytes());
    let tags: &[&[&str]] = &[&["p", &hex]];
    let template = Template {
        pubkey: None,
        created_at: 1,
        kind: 24_133,
        tags: Tags::List(tags),
        content: "\\x".into(),
    };
    let event = template.sign(&client, &[0; 32]).unwrap();
    let mut json = vec![b' '; MAX_EVENT + 1];
    let len = event.write(&mut json).unwrap().len();
    assert!(matches!(Incoming::read(&mut json), Err(Ignored::Length)));
    assert!(Incoming::read(&mut json[..MAX_EVENT]).is_ok_and(|it| it.id() == &event.id));
    assert!(matches!(Incoming::read(&mut json[..len - 1]), Err(Ignored::Event(_))));
    // An escape in the content changes nothing: the event is verified with it, and opened without
    // it.
    let verified = Incoming::read(&mut json[..len]).unwrap_or_else(|e| panic!("{e}")).verify();
    let conversation = Conversation::new(&key("transport"), client.public_key());
    assert!(verified.is_ok_and(|it| !it.is_nip04() && it.open(&conversation).is_err()));
}
