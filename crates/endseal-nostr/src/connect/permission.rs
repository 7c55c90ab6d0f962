//! Methods, and permissions that a client asks for.

/// A method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method<'a> {
    /// `connect`: asks for a connection.
    Connect,
    /// `sign_event`: signs an event with the user's key.
    SignEvent,
    /// `ping`: tests that the signer answers.
    Ping,
    /// `get_public_key`: returns the user's public key.
    GetPublicKey,
    /// `nip04_encrypt`: encrypts a text by NIP-04.
    Nip04Encrypt,
    /// `nip04_decrypt`: decrypts a payload of NIP-04.
    Nip04Decrypt,
    /// `nip44_encrypt`: encrypts a text by NIP-44.
    Nip44Encrypt,
    /// `nip44_decrypt`: decrypts a payload of NIP-44.
    Nip44Decrypt,
    /// `switch_relays`: returns the relays that the client shall use.
    SwitchRelays,
    /// `logout`: ends the session.
    Logout,
    /// Any other: to be answered by an error.
    Other(&'a str),
}

impl<'a> Method<'a> {
    const KNOWN: [(&'static str, Method<'static>); 10] = [
        ("connect", Method::Connect),
        ("sign_event", Method::SignEvent),
        ("ping", Method::Ping),
        ("get_public_key", Method::GetPublicKey),
        ("nip04_encrypt", Method::Nip04Encrypt),
        ("nip04_decrypt", Method::Nip04Decrypt),
        ("nip44_encrypt", Method::Nip44Encrypt),
        ("nip44_decrypt", Method::Nip44Decrypt),
        ("switch_relays", Method::SwitchRelays),
        ("logout", Method::Logout),
    ];

    /// Returns the method of this name, as messages of NIP-46 have it.
    #[must_use]
    pub fn from_name(name: &'a str) -> Self {
        let known = Self::KNOWN.iter().find(|(known, _)| *known == name);
        known.map_or(Method::Other(name), |(_, method)| *method)
    }

    /// Name of the method in messages of NIP-46.
    #[must_use]
    pub fn name(&self) -> &'a str {
        match self {
            Self::Other(name) => name,
            known => Self::KNOWN.iter().find(|(_, it)| it == known).map_or("", |(name, _)| name),
        }
    }
}

/// A permission: a method, and what it is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Permission<'a> {
    /// Method that is permitted.
    pub method: Method<'a>,
    /// Limit as it is written behind the colon; of `sign_event` a kind.
    pub parameter: Option<&'a str>,
}

impl<'a> Permission<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let permission = Self { method: Method::from_name(name), parameter };
        let is_kind = permission.kind().is_some();
        if name.is_empty()
            || permission.method == Method::SignEvent && parameter.is_some() && !is_kind
        {
            return None;
        }
        Some(permission)
    }

    /// Kind that `sign_event` is limited to.
    #[must_use]
    pub fn kind(&self) -> Option<u16> {
        let digits = self.parameter.filter(|_| self.method == Method::SignEvent)?;
        // No sign, no leading zero: one text for each kind.
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let is_shortest = digits == "0" || !digits.starts_with('0');
        digits.parse().ok().filter(|_| is_number && is_shortest)
    }
}

/// Permissions that a client wishes for: `method[:parameter]`, separated by commas. Empty ones are
/// passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions<'a>(&'a str);

impl<'a> Permissions<'a> {
    /// Creates the list from its text, of any content.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the text of the list.
    #[must_use]
    pub const fn as_str(&self) -> &'a str {
        self.0
    }

    /// Iterates over the permissions; one that is malformed is its text as an error.
    pub fn iter(&self) -> impl Iterator<Item = Result<Permission<'a>, &'a str>> + use<'a> {
        items(self.0).map(|item| Permission::parse(item).ok_or(item))
    }
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_method_has_one_name() {
        for (name, method) in Method::KNOWN {
            assert_eq!(Method::from_name(name), method);
            assert_eq!(method.name(), name);
        }
        for name in ["", "Ping", "ping ", "nip44_decrypt_batch"] {
            assert_eq!(Method::from_name(name), Method::Other(name));
            assert_eq!(Method::Other(name).name(), name);
        }
    }

    #[test]
    fn lists_are_read_item_by_item() {
        let text = "nip44_encrypt,sign_event:4,,sign_event:0,sign_event,x:y:z,sign_event:65535,";
        let permissions = Permissions::new(text);
        let found: Vec<_> =
            permissions.iter().map(|it| it.map(|it| (it.method.name(), it.kind()))).collect();
        let expected = [
            ("nip44_encrypt", None),
            ("sign_event", Some(4)),
            ("sign_event", Some(0)),
            ("sign_event", None),
            ("x", None),
            ("sign_event", Some(65_535)),
        ];
        assert_eq!(found, expected.map(Ok));
        assert_eq!(permissions.iter().nth(4).unwrap().unwrap().parameter, Some("y:z"));
        assert_eq!(permissions.as_str(), text);
        assert_eq!(Permissions::new("").iter().next(), None);
    }

    #[test]
    fn a_limit_that_is_no_kind_is_not_dropped() {
        for limit in ["", "65536", "-1", "+1", "01", "00", "1.0", " 1", "a", "١"] {
            let text = format!("ping,sign_event:{limit}");
            let found = Permissions::new(&text);
            assert_eq!(found.iter().nth(1), Some(Err(&text[5..])), "{text}");
        }
        assert_eq!(Permissions::new(":4").iter().next(), Some(Err(":4")));
    }
}
