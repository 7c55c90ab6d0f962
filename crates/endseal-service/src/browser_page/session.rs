//! Sessions of browsers.

use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use endseal_crypto::random::{OsRandom, Random as _, RandomError};
use endseal_crypto::secret::{Zeroizing, constant_time_eq};

/// Path of sign-in links, before their token.
pub(super) const SIGN_IN: &str = "/sign-in/";
/// Maximum number of sessions. A new one replaces the oldest.
const SESSIONS: usize = 16;
const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3600);
const LINK_LIFETIME: Duration = Duration::from_secs(300);

/// Open sessions, and the link that starts the next one.
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Sessions(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    link: Option<(Zeroizing<String>, Instant)>,
    open: Vec<Session>,
}

struct Session {
    cookie: Zeroizing<String>,
    form_token: Zeroizing<String>,
    started: Instant,
}

/// Path of a link that signs a browser in. It contains a secret.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct SignInPath(pub Zeroizing<String>);

impl Sessions {
    /// Creates a link that replaces the previous one. It works once, for five minutes.
    ///
    /// # Errors
    /// [`RandomError`] if the system has no random bytes.
    pub fn link(&self) -> Result<SignInPath, RandomError> {
        let token = token()?;
        let path = Zeroizing::new(format!("{SIGN_IN}{}", *token));
        self.inner(|inner| inner.link = Some((token, Instant::now())));
        Ok(SignInPath(path))
    }

    /// Consumes a link and returns the cookie of a new session, or `None` if the link is not valid.
    pub(super) fn enter(&self, link: &str) -> Option<Zeroizing<String>> {
        self.enter_at(link, Instant::now())
    }

    fn enter_at(&self, link: &str, now: Instant) -> Option<Zeroizing<String>> {
        let (cookie, form_token) = (token().ok()?, token().ok()?);
        self.inner(|inner| {
            let (own, made) = inner.link.as_ref()?;
            if now.duration_since(*made) > LINK_LIFETIME
                || !is_equal(link.as_bytes(), own.as_bytes())
            {
                return None;
            }
            inner.link = None;
            if inner.open.len() >= SESSIONS {
                inner.open.remove(0);
            }
            let session = Session { cookie: cookie.clone(), form_token, started: now };
            inner.open.push(session);
            Some(cookie)
        })
    }

    /// Returns the form token of a session, or `None` if the cookie is not that of a session.
    pub(super) fn form_token(&self, cookie: &str) -> Option<Zeroizing<String>> {
        self.form_token_at(cookie, Instant::now())
    }

    fn form_token_at(&self, cookie: &str, now: Instant) -> Option<Zeroizing<String>> {
        self.inner(|inner| {
            inner.open.retain(|it| now.duration_since(it.started) < SESSION_LIFETIME);
            let own =
                inner.open.iter().find(|it| is_equal(it.cookie.as_bytes(), cookie.as_bytes()))?;
            Some(own.form_token.clone())
        })
    }

    /// Ends all sessions and the link, and returns how many sessions there were.
    pub fn end_all(&self) -> usize {
        self.inner(|inner| {
            inner.link = None;
            let count = inner.open.len();
            inner.open.clear();
            count
        })
    }

    fn inner<T>(&self, with: impl FnOnce(&mut Inner) -> T) -> T {
        // No change of this state can panic halfway, so a poisoned lock is safe to use.
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Compares in constant time for inputs of the same length.
pub(super) fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && constant_time_eq(a, b)
}

/// Returns 128 random bits in hexadecimal.
pub(super) fn token() -> Result<Zeroizing<String>, RandomError> {
    let mut bytes = Zeroizing::new([0; 16]);
    OsRandom.fill(&mut bytes[..])?;
    let mut text = Zeroizing::new(String::with_capacity(32));
    for byte in bytes.iter() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_its_cookie_alone_opens_a_session() {
        let sessions = Sessions::default();
        let link = sessions.link().unwrap();
        let token = link.0.strip_prefix(SIGN_IN).unwrap();
        assert!(sessions.enter("").is_none() && sessions.enter(&"0".repeat(32)).is_none());
        let cookie = sessions.enter(token).unwrap();
        assert!(sessions.enter(token).is_none());
        let form_token = sessions.form_token(&cookie).unwrap();
        assert!(*form_token != *cookie);
        assert!(sessions.form_token("").is_none() && sessions.form_token(token).is_none());
    }

    #[test]
    fn a_link_lasts_five_minutes_and_a_session_twelve_hours() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let link = || sessions.link().unwrap().0.strip_prefix(SIGN_IN).unwrap().to_owned();
        let late = Duration::from_secs(1);
        assert!(sessions.enter_at(&link(), now + Duration::from_secs(300) + late).is_none());
        let cookie = sessions.enter_at(&link(), now + Duration::from_secs(290)).unwrap();
        let started = now + Duration::from_secs(290);
        let hours = Duration::from_secs(12 * 3600);
        assert!(sessions.form_token_at(&cookie, started + hours - late).is_some());
        assert!(sessions.form_token_at(&cookie, started + hours + late).is_none());
    }

    #[test]
    fn the_oldest_session_ends_when_there_are_too_many() {
        let sessions = Sessions::default();
        let enter = || sessions.enter(sessions.link().unwrap().0.strip_prefix(SIGN_IN).unwrap());
        let cookies: Vec<_> = (0..=SESSIONS).map(|_| enter().unwrap()).collect();
        assert_eq!(SESSIONS, 16);
        assert!(sessions.form_token(&cookies[0]).is_none());
        assert!(cookies[1..].iter().all(|it| sessions.form_token(it).is_some()));
    }

    #[test]
    fn all_sessions_and_the_link_end_at_once() {
        let sessions = Sessions::default();
        let enter = || sessions.enter(sessions.link().unwrap().0.strip_prefix(SIGN_IN).unwrap());
        let cookies = [enter().unwrap(), enter().unwrap()];
        let link = sessions.link().unwrap();
        assert_eq!(sessions.end_all(), 2);
        assert!(cookies.iter().all(|it| sessions.form_token(it).is_none()));
        assert!(sessions.enter(link.0.strip_prefix(SIGN_IN).unwrap()).is_none());
        assert_eq!(sessions.end_all(), 0);
    }

    #[test]
    fn a_new_link_replaces_the_one_before() {
        let sessions = Sessions::default();
        let (first, second) = (sessions.link().unwrap(), sessions.link().unwrap());
        assert!(sessions.enter(first.0.strip_prefix(SIGN_IN).unwrap()).is_none());
        assert!(sessions.enter(second.0.strip_prefix(SIGN_IN).unwrap()).is_some());
    }
}
