//! A signer's whole answer, with a decision by the rules of an app.

use endseal_nostr::connect::{Encryption, Incoming, ResponseKeys, Stamp, aux, execute, respond};
use endseal_nostr::nip44::{Cache, Conversation};
use endseal_nostr::policy::{Action, Effect, Pattern, Rule, Verdict, charge, decide};

use super::Flow;
use crate::ours::nostr::event::CREATED_AT;
use crate::ours::nostr::random;
use crate::subject::Failure;

/// Number of rules of the app. One of them allows text notes.
const RULES: u32 = 16;
const OTHERS: [&str; 4] = ["nip44_encrypt", "nip44_decrypt", "sign:7", "sign:30000-39999"];

/// Returns the rules. The last one decides.
pub(super) fn rules() -> Result<Vec<Rule>, Failure> {
    let others = OTHERS.iter().copied().cycle().take(RULES as usize - 1);
    let rule = |(number, text)| {
        let pattern = Pattern::parse(text)?;
        Ok(pattern.rule(Effect::Allow, number, CREATED_AT))
    };
    (1..).zip(others.chain(["sign:1"])).map(rule).collect()
}

impl Flow {
    /// Answers the request in the buffer by the rules. Returns the length of the response.
    pub(super) fn decided(&mut self) -> Result<usize, Failure> {
        let Self { key, conversations, rules, buffer, plaintext, payload, response, .. } = self;
        let verified = Incoming::read(buffer)?.verify()?;
        let client = *verified.author();
        let with = conversations.get_or_insert_with(key.public_key(), &client, || {
            Conversation::new(key.secret_key(), &client)
        });
        let request = verified.open(with)?.request()?;
        let call = request.call()?;
        let action = Action::of(&call)?.ok_or("no action")?;
        let decision = decide(rules, &action, CREATED_AT);
        let rule = rules.iter_mut().find(|rule| Some(rule.number) == decision.rule);
        let Some(rule) = rule.filter(|_| decision.verdict == Verdict::Allow) else {
            return Err("it was refused".into());
        };
        charge(rule, CREATED_AT);
        let aux = aux(key.secret_key(), &request.digest());
        // Signing does not need the user's own conversations.
        let mut own = Cache::<1>::new();
        let outcome = execute(&call, key, &mut own, &aux, &random()?, payload)?;
        let keys =
            ResponseKeys { transport: key, client: &client, encryption: Encryption::Nip44(with) };
        let stamp = Stamp { created_at: CREATED_AT, nonce: random()?, aux };
        let event = respond(&outcome.answer(), request.id, &keys, &stamp, plaintext, response);
        Ok(event?.len())
    }
}
