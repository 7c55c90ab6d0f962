//! Canonical form of the URLs in scopes: scheme and host in lower case, without the port that is
//! the scheme's own, and without a path that is `/` alone. What is no URL of these schemes stays as
//! it is.

use core::ops::Range;

use crate::json::Text;

/// Schemes with their ports.
const SCHEMES: [(&str, &str); 4] =
    [("https", ":443"), ("http", ":80"), ("wss", ":443"), ("ws", ":80")];

/// Places in a URL, in characters.
struct Places {
    is_http: bool,
    /// Place behind `://`.
    host: usize,
    /// Place behind host and port.
    end: usize,
    /// Port that is the scheme's own, with its colon; else empty.
    port: Range<usize>,
    /// True if the path is `/` and nothing follows.
    is_root: bool,
    len: usize,
}

impl Places {
    fn of(url: &Text<'_>) -> Option<Self> {
        let begins = |text: &str| {
            let chars = url.chars().map(|single| single.to_ascii_lowercase());
            chars.take(text.len()).eq(text.chars())
        };
        let is_at = |at: usize, text: &str| url.chars().skip(at).take(text.len()).eq(text.chars());
        let (scheme, port) =
            SCHEMES.into_iter().find(|(it, _)| begins(it) && is_at(it.len(), "://"))?;
        let host = scheme.len() + 3;
        let len = url.chars().count();
        let behind = url.chars().skip(host).position(|it| matches!(it, '/' | '?' | '#'));
        let end = behind.map_or(len, |at| host + at);
        let has_port = end >= host + port.len() && is_at(end - port.len(), port);
        Some(Self {
            is_http: scheme.starts_with('h'),
            host,
            end,
            port: if has_port { end - port.len()..end } else { end..end },
            is_root: end + 1 == len && is_at(end, "/"),
            len,
        })
    }
}

/// Writes a URL in canonical form.
pub(super) fn whole<E>(
    url: &Text<'_>,
    mut put: impl FnMut(char) -> Result<(), E>,
) -> Result<(), E> {
    let Some(places) = Places::of(url) else { return url.chars().try_for_each(put) };
    let last = if places.is_root { places.end } else { places.len };
    for (at, single) in url.chars().enumerate().take(last) {
        if at >= places.end {
            put(single)?;
        } else if !places.port.contains(&at) {
            put(single.to_ascii_lowercase())?;
        }
    }
    Ok(())
}

/// Writes scheme, host and port of a URL of HTTP in canonical form. Returns `None` for others.
pub(super) fn site(url: &Text<'_>, mut put: impl FnMut(char)) -> Option<()> {
    let places = Places::of(url).filter(|it| it.is_http && it.end > it.host)?;
    for single in url.chars().take(places.port.start) {
        put(single.to_ascii_lowercase());
    }
    Some(())
}

/// Returns true if a URL of HTTP has a host and nothing behind it.
pub(super) fn is_site(url: &Text<'_>) -> bool {
    Places::of(url)
        .is_some_and(|it| it.is_http && it.end > it.host && (it.is_root || it.end == it.len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(url: &str) -> String {
        let mut text = String::new();
        let put = |single| {
            text.push(single);
            Ok::<_, ()>(())
        };
        whole(&url.into(), put).unwrap();
        text
    }

    #[test]
    fn one_place_has_one_form() {
        for (url, canonical) in [
            ("WSS://Relay.Example:443/", "wss://relay.example"),
            ("wss://r.x", "wss://r.x"),
            ("wss://r.x/", "wss://r.x"),
            ("wss://r.x/Path/", "wss://r.x/Path/"),
            ("ws://r.x:80", "ws://r.x"),
            ("ws://r.x:443/", "ws://r.x:443"),
            ("https://X:443/A?B#C", "https://x/A?B#C"),
            ("https://x?", "https://x?"),
            ("https://x/?", "https://x/?"),
            ("https://x:4430/", "https://x:4430"),
            ("https://", "https://"),
            ("HTTP://:80", "http://"),
            ("mailto:A@B", "mailto:A@B"),
            ("https:/X", "https:/X"),
            ("", ""),
        ] {
            assert_eq!(written(url), canonical, "{url}");
            assert_eq!(written(canonical), canonical);
        }
    }
}
