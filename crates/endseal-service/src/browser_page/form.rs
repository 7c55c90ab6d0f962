//! Forms as browsers submit them (`application/x-www-form-urlencoded`).

use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;

use http_body::Body as _;
use hyper::body::Incoming;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a form in bytes.
const MAX: usize = 4 * 1024;

/// Fields of a form, in their order.
#[derive(Clone, Default, PartialEq, Eq)]
#[allow(missing_debug_implementations, reason = "it holds a token")]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Returns the first field of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Reads a form. Returns `None` if it exceeds 4 KiB, takes more than 10 s or cannot be read.
    pub(super) async fn read(mut body: Incoming) -> Option<Self> {
        let mut bytes = Vec::new();
        let reading = async {
            loop {
                match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                    None => return Some(Self::parse(&bytes)),
                    Some(Err(_)) => return None,
                    Some(Ok(frame)) => bytes.extend(frame.into_data().unwrap_or_default()),
                }
                if bytes.len() > MAX {
                    return None;
                }
            }
        };
        timeout(TIMEOUT, reading).await.ok().flatten()
    }

    fn parse(bytes: &[u8]) -> Self {
        let fields = bytes.split(|byte| *byte == b'&').filter(|it| !it.is_empty());
        Self(
            fields
                .map(|field| {
                    let mut halves = field.splitn(2, |byte| *byte == b'=');
                    let mut half = || decoded(halves.next().unwrap_or_default());
                    (half(), half())
                })
                .collect(),
        )
    }
}

/// Decodes `+` and `%XX`. What is not UTF-8 is replaced by U+FFFD.
fn decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let escaped = match (*first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                digit(*high).zip(digit(*low)).map(|(high, low)| (16 * high + low, behind))
            }
            _ => None,
        };
        match (*first, escaped) {
            (_, Some((byte, behind))) => {
                bytes.push(byte);
                rest = behind;
            }
            (b'+', None) => bytes.push(b' '),
            (byte, None) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded() {
        let form = Form::parse(b"a=1&b=x+y%26%C3%A9&&c&a=2&%=%4&=d");
        assert_eq!(form.get("a"), Some("1"));
        assert_eq!(form.get("b"), Some("x y&\u{e9}"));
        assert_eq!(form.get("c"), Some(""));
        assert_eq!(form.get("%"), Some("%4"));
        assert_eq!(form.get(""), Some("d"));
        assert_eq!(form.get("d"), None);
        assert_eq!(Form::parse(b"x=%FF").get("x"), Some("\u{fffd}"));
        assert!(Form::parse(b"") == Form::default());
    }
}
