//! Facts about an object, and about an upload in parts.

use core::time::Duration;
use std::time::SystemTime;

use endseal_s3_protocol::sigv4::{Timestamp, uri};
use http::HeaderMap;

use crate::id::Id;
use crate::lines::{Lines, header, lines};

const OBJECT: &str = "endseal-folder object 1";
const UPLOAD: &str = "endseal-folder upload 1";
const PENDING: &str = "endseal-folder pending 1";

/// Stored facts about an object, without its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Id of the data that hold its content.
    pub(crate) data: Id,
    /// Length of its content in bytes.
    pub(crate) len: u64,
    /// Parts, if it was uploaded in parts.
    pub(crate) parts: Option<u16>,
    /// Time of writing, in microseconds since 1970.
    pub(crate) modified: u64,
    /// Headers that are stored and returned with the object.
    pub(crate) headers: HeaderMap,
}

impl Entry {
    pub(crate) fn new(data: Id, len: u64, parts: Option<u16>, headers: HeaderMap) -> Self {
        Self { data, len, parts, modified: micros(), headers }
    }

    /// The entity tag, with quotes.
    pub(crate) fn etag(&self) -> String {
        match self.parts {
            None => format!("\"{}\"", self.data),
            Some(parts) => format!("\"{}-{parts}\"", self.data),
        }
    }

    pub(crate) fn time(&self) -> Timestamp {
        time(self.modified)
    }

    pub(crate) fn encode(&self) -> String {
        let mut text = Lines::new(OBJECT);
        text.line("data", &self.data).line("len", self.len).line("modified", self.modified);
        if let Some(parts) = self.parts {
            text.line("parts", parts);
        }
        text.headers(&self.headers);
        text.finish()
    }

    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (mut data, mut len, mut modified, mut parts) = (None, None, None, None);
        let mut headers = HeaderMap::new();
        for (word, value) in lines(text, OBJECT)? {
            match word {
                "data" => data = Some(Id::parse(value)?),
                "len" => len = Some(value.parse().ok()?),
                "modified" => modified = Some(value.parse().ok()?),
                "parts" => parts = Some(value.parse().ok()?),
                "header" => {
                    let (name, value) = header(value)?;
                    headers.append(name, value);
                }
                _ => return None,
            }
        }
        Some(Self { data: data?, len: len?, parts, modified: modified?, headers })
    }
}

/// Stored facts about an upload in parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Upload {
    pub(crate) key: String,
    /// Start of the upload, in microseconds since 1970.
    pub(crate) started: u64,
    pub(crate) headers: HeaderMap,
}

impl Upload {
    pub(crate) fn new(key: &str, headers: HeaderMap) -> Self {
        Self { key: key.to_owned(), started: micros(), headers }
    }

    pub(crate) fn encode(&self) -> String {
        let mut text = Lines::new(UPLOAD);
        text.line("key", uri::encode_component(self.key.as_bytes())).line("begun", self.started);
        text.headers(&self.headers);
        text.finish()
    }

    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (mut key, mut started, mut headers) = (None, None, HeaderMap::new());
        for (word, value) in lines(text, UPLOAD)? {
            match word {
                "key" => key = Some(decoded(value)?),
                "begun" => started = Some(value.parse().ok()?),
                "header" => {
                    let (name, value) = header(value)?;
                    headers.append(name, value);
                }
                _ => return None,
            }
        }
        Some(Self { key: key?, started: started?, headers })
    }
}

/// Data that an object refers to, or does not, when the process ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pending {
    pub(crate) bucket: String,
    pub(crate) key: String,
    /// The upload of whose parts they were made.
    pub(crate) upload: Option<Id>,
}

impl Pending {
    pub(crate) fn encode(&self) -> String {
        let mut text = Lines::new(PENDING);
        text.line("bucket", &self.bucket);
        text.line("key", uri::encode_component(self.key.as_bytes()));
        if let Some(upload) = &self.upload {
            text.line("upload", upload);
        }
        text.finish()
    }

    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (mut bucket, mut key, mut upload) = (None, None, None);
        for (word, value) in lines(text, PENDING)? {
            match word {
                "bucket" => bucket = Some(value.to_owned()),
                "key" => key = Some(decoded(value)?),
                "upload" => upload = Some(Id::parse(value)?),
                _ => return None,
            }
        }
        Some(Self { bucket: bucket?, key: key?, upload })
    }
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(uri::decode_path(text).ok()?.into_owned()).ok()
}

/// The present time, in microseconds since 1970.
fn micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

pub(crate) fn time(micros: u64) -> Timestamp {
    Timestamp::of(SystemTime::UNIX_EPOCH + Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn entries_come_back_and_cut_ones_do_not() {
        let mut headers = HeaderMap::new();
        headers.append("x-amz-meta-a", HeaderValue::from_static("one two"));
        headers.append("x-amz-meta-a", HeaderValue::from_bytes(b"\xff%\tb").unwrap());
        headers.insert("content-type", HeaderValue::from_static(""));
        let entry = Entry::new(Id::random().unwrap(), 7, Some(3), headers.clone());
        let text = entry.encode();
        assert_eq!(Entry::decode(&text).unwrap(), entry);
        for end in 0..text.len() {
            assert!(Entry::decode(&text[..end]).is_none(), "{end}");
        }
        let upload = Upload::new("a\nb/ä", headers);
        assert_eq!(Upload::decode(&upload.encode()).unwrap(), upload);
        let pending = Pending { bucket: "b".into(), key: " ".into(), upload: None };
        assert_eq!(Pending::decode(&pending.encode()).unwrap(), pending);
        assert!(Pending::decode(&upload.encode()).is_none());
    }

    /// Folders keep these texts from one version of the program to the next.
    #[test]
    fn the_words_of_an_upload_stay_as_they_are() {
        let upload = Upload { key: "a b".to_owned(), started: 7, headers: HeaderMap::new() };
        let text = upload.encode();
        let words: Vec<_> = text.lines().filter_map(|line| line.split_once(' ')).collect();
        assert!(words.contains(&("key", "a%20b")) && words.contains(&("begun", "7")), "{text}");
    }
}
