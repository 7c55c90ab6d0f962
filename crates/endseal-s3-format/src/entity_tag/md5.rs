//! "MD5 as entity tag": the second name of an object, and the way back to the first.

use base16ct::lower::encode_string;

use super::{Quoted, split, to_client};

/// Returns the tag that clients see for an object by the MD5 of its content, with quotes.
#[must_use]
pub fn of_md5(md5: &[u8; 16]) -> String {
    format!("\"{}\"", encode_string(md5))
}

/// Returns true if a list of tags has one that may be an [MD5](of_md5), with or without quotes and
/// `W/`.
#[must_use]
pub fn names_md5(list: &str) -> bool {
    split(list).any(|tag| is_md5(Quoted::new(tag).opaque))
}

/// Both names of an object, as clients know them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    tag: String,
    md5: Option<String>,
}

impl Named {
    /// From the backend's entity tag, and the MD5 of the content if the object is called by it.
    #[must_use]
    pub fn new(backend: &str, md5: Option<&[u8; 16]>) -> Self {
        Self { tag: to_client(backend), md5: md5.map(of_md5) }
    }

    /// The name that is made of the backend's tag, with the backend's quotes.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The name that is an MD5, with quotes.
    #[must_use]
    pub fn md5(&self) -> Option<&str> {
        self.md5.as_deref()
    }

    /// The name in answers about the object alone: the MD5, if it has one.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.md5().unwrap_or(&self.tag)
    }

    /// Returns true if a tag is one of the two: weakly compared, with quotes or without.
    #[must_use]
    pub fn is(&self, tag: &str) -> bool {
        let opaque = Quoted::new(tag.trim()).opaque;
        let names = [Some(self.tag()), self.md5()];
        names.into_iter().flatten().any(|name| Quoted::new(name).opaque == opaque)
    }

    /// Returns true if a list has one of the two, or `*`.
    #[must_use]
    pub fn is_in(&self, list: &str) -> bool {
        split(list).any(|tag| tag == "*" || self.is(tag))
    }

    /// The list with the one name in the place of the other, which `list_to_backend` knows.
    #[must_use]
    pub fn without_md5(&self, list: &str) -> String {
        let opaque = Quoted::new(&self.tag).opaque;
        let md5 = self.md5().map(|md5| Quoted::new(md5).opaque);
        let tags = split(list).map(|tag| match Quoted::new(tag) {
            quoted if Some(quoted.opaque) == md5 => quoted.with(opaque, ""),
            _ => tag.to_owned(),
        });
        tags.collect::<Vec<_>>().join(", ")
    }
}

/// 32 digits in lower case.
fn is_md5(opaque: &str) -> bool {
    opaque.len() == 32 && opaque.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::super::{list_to_backend, to_backend, to_client};
    use super::*;

    const EMPTY: [u8; 16] = [
        0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04, 0xe9, 0x80, 0x09, 0x98, 0xec, 0xf8, 0x42,
        0x7e,
    ];
    const MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

    #[test]
    fn an_md5_is_no_other_tag() {
        assert_eq!(of_md5(&EMPTY), format!("\"{MD5}\""));
        for list in [MD5, &format!("\"{MD5}\""), &format!("\"x-0\" , W/\"{MD5}\"")] {
            assert!(names_md5(list), "{list}");
        }
        for tag in [
            "*".to_owned(),
            String::new(),
            MD5.to_uppercase(),
            format!("\"{MD5}-0\""),
            format!("\"{MD5}-3\""),
            format!("\"{MD5}0\""),
            MD5[1..].to_owned(),
            format!("g{}", &MD5[1..]),
            format!("\"x,{MD5}\""),
            format!("\"{MD5},\""),
        ] {
            assert!(!names_md5(&tag), "{tag}");
        }
        // Clients never see a tag of the backend as an MD5, and an MD5 names no object at the
        // backend.
        for backend in [MD5, "\"x\"", &format!("{MD5}-2")] {
            assert!(!names_md5(&to_client(backend)), "{backend}");
        }
        assert_eq!(to_backend(&of_md5(&EMPTY)), format!("\"{MD5}-0\""));
    }

    #[test]
    fn the_second_name_becomes_the_first() {
        let named = Named::new("\"abc\"", Some(&EMPTY));
        assert_eq!((named.tag(), named.shown()), ("\"abc-0\"", of_md5(&EMPTY).as_str()));
        for (list, expected, backend) in [
            (format!("\"{MD5}\""), "\"abc-0\"", "\"abc\""),
            (MD5.to_owned(), "abc-0", "abc"),
            (format!("W/\"{MD5}\""), "W/\"abc-0\"", "W/\"abc\""),
            (
                format!("\"a,b-0\",\"{MD5}\" , \"p-2\""),
                "\"a,b-0\", \"abc-0\", \"p-2\"",
                "\"a,b\", \"abc\", \"p-2\"",
            ),
            ("*".to_owned(), "*", "*"),
        ] {
            assert_eq!(named.without_md5(&list), expected);
            assert_eq!(list_to_backend(&named.without_md5(&list)), backend);
            assert!(named.is_in(&list), "{list}");
        }
        let theirs = format!("\"{MD5}-0\"");
        assert_eq!((named.without_md5(&theirs), named.is_in(&theirs)), (theirs, false));
        let other = Named::new("\"abc\"", Some(&[7; 16]));
        let unnamed = Named::new("\"abc\"", None);
        for named in [&other, &unnamed] {
            assert_eq!(named.without_md5(MD5), MD5);
            assert!(!named.is(MD5) && !named.is_in(MD5) && named.is_in("*"));
            assert!(named.is("W/\"abc-0\"") && !named.is("\"abc\""));
        }
        assert_eq!(unnamed.shown(), "\"abc-0\"");
        // Uploaded in parts at the backend, as a long copy may be.
        assert_eq!(Named::new("\"abc-3\"", Some(&EMPTY)).without_md5(MD5), "abc-3");
    }
}
