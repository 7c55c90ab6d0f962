//! View of a waiting request for the person who decides it. All texts of the app are sanitised.

use base16ct::lower::encode_string as hex;
use endseal_nostr::connect::{Call, MAX_CONTENT, Outcome, Request, Scope, execute, sanitise};
use endseal_nostr::event::Template;

use super::waiting::{Entry, pattern};
use super::{Engine, buffer, user_key, wishes};
use crate::control::WaitingView;
use crate::kinds::kind_name;

/// Maximum number of tags, of values per tag, and of characters per value in a list of requests.
const MAX_TAGS: usize = 20;
const MAX_VALUES: usize = 20;
const MAX_VALUE: usize = 100;

impl Engine {
    /// Returns the waiting requests in the order of their arrival, with long texts cut.
    pub(super) fn waiting(&mut self, now: u64) -> Vec<WaitingView> {
        (0..self.parts.waiting.len()).filter_map(|at| self.waiting_view(at, now, false)).collect()
    }

    /// Returns one waiting request with all that it contains.
    pub(super) fn waiting_request(&mut self, number: u32, now: u64) -> Option<WaitingView> {
        let at = self.parts.waiting.entries().iter().position(|it| it.number == number)?;
        self.waiting_view(at, now, true)
    }

    fn waiting_view(&mut self, at: usize, now: u64, is_whole: bool) -> Option<WaitingView> {
        let state = self.store.state();
        let parts = &mut self.parts;
        let Entry { number, transport, action, json, until, .. } =
            parts.waiting.entries().get(at)?;
        let app = state.app(transport)?.app();
        let mut json = json.clone();
        // The JSON was written from a parsed request, so it parses.
        let request = Request::parse(&mut json).ok()?;
        let call = request.call().ok()?;
        let max = if is_whole { usize::MAX } else { MAX_CONTENT };
        let shown = |text| sanitise(text, max).keep_lines().to_string();
        let content = match &call {
            Call::SignEvent(template) => template.content,
            Call::Nip04Encrypt(message) | Call::Nip44Encrypt(message) => message.text.into(),
            // An encrypted payload is not readable for a person.
            _ => "".into(),
        };
        let mut out = buffer(match &call {
            Call::Nip04Decrypt(message) | Call::Nip44Decrypt(message) => message.text.len(),
            _ => 0,
        });
        let plaintext = match (user_key(&parts.keys, app), &call) {
            (Some(user), Call::Nip04Decrypt(_) | Call::Nip44Decrypt(_)) => {
                let cache = &mut *parts.user_conversations;
                match execute(&call, user, cache, &[0; 32], &[0; 32], &mut out) {
                    Ok(Outcome::Text(text)) => Some(shown(text.into())),
                    _ => None,
                }
            }
            _ => None,
        };
        let template = match &call {
            Call::SignEvent(template) => Some(template),
            _ => None,
        };
        let scope = template.and_then(|template| Scope::of(template).ok().flatten());
        let scope = scope.map(|it| sanitise(it.to_string().as_str(), MAX_CONTENT).to_string());
        let kind = action.kind();
        Some(WaitingView {
            id: *number,
            app: app.name.as_str().to_owned(),
            app_number: app.number(),
            app_made: app.made(),
            user: super::view::key(app.user()),
            user_label: state.user(app.user()).map(|it| it.label().to_string()).unwrap_or_default(),
            method: call.method().name().to_owned(),
            kind,
            kind_name: kind.and_then(kind_name).map(str::to_owned),
            peer: action.peer().map(|peer| hex(peer)),
            rule: match (&scope, kind) {
                (Some(scope), Some(kind)) => format!("sign:{kind}:{scope}"),
                _ => pattern(action).to_string(),
            },
            scope,
            content: shown(content),
            content_length: content.chars().count(),
            plaintext,
            created_at: template.map(|it| it.created_at),
            tags: template.map(|it| tags(it, is_whole)).unwrap_or_default(),
            tag_count: template.map_or(0, |it| it.tags.iter().count()),
            requested: wishes::rules(app).map(|(_, text)| text).collect(),
            seconds: until.saturating_sub(now),
        })
    }
}

/// Returns the values of an event's tags. Some kinds consist only of tags, for instance follow
/// lists and deletions.
fn tags(template: &Template<'_>, is_whole: bool) -> Vec<Vec<String>> {
    let (tags, values, chars) = if is_whole {
        (usize::MAX, usize::MAX, usize::MAX)
    } else {
        (MAX_TAGS, MAX_VALUES, MAX_VALUE)
    };
    let shown = |value| sanitise(value, chars).to_string();
    let all = template.tags.iter().take(tags);
    all.map(|tag| tag.values().take(values).map(shown).collect()).collect()
}
