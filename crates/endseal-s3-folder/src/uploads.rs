//! Uploads in parts, and objects made of them, on the disk. Everything here blocks.

use core::ops::Range;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::headers::is_object_size;
use endseal_s3_protocol::sigv4::Timestamp;
use endseal_s3_protocol::xml::CompletedPart;
use http::HeaderMap;

use crate::conditions::{check_write, is_tag};
use crate::data::{Draft, Lease, remove_all};
use crate::entry::{Entry, Upload};
use crate::fault::{disk, no_such_bucket};
use crate::id::Id;
use crate::lines::{Lines, lines};
use crate::reading::Source;
use crate::request::Asked;
use crate::store::{Store, read_small, sync_folder};

/// The parts of an object in their order, in a file of this name beside them.
pub(crate) const LIST: &str = "list";

const LIST_TITLE: &str = "endseal-folder parts 1";

/// Greatest length of a list in bytes: 10,000 lines.
const MAX_LIST: u64 = 1 << 20;

/// S3's limit for all parts but the last.
const MIN_PART: u64 = 5 << 20;

/// Attempts to read an object that is replaced again and again.
const ATTEMPTS: usize = 100;

/// A part of an object.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) len: u64,
}

/// A part of an upload.
#[derive(Debug)]
pub(crate) struct Uploaded {
    pub(crate) name: String,
    pub(crate) len: u64,
    pub(crate) etag: Id,
    pub(crate) modified: SystemTime,
}

/// The upload that a request names.
///
/// # Errors
/// `NoSuchUpload`.
pub(crate) fn upload_id(asked: &Asked) -> Result<Id, S3Error> {
    let id = asked.target.query().get("uploadId").and_then(Id::parse);
    id.ok_or_else(S3Error::no_such_upload)
}

/// The number of the part that a request names.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn number(asked: &Asked) -> Result<u16, S3Error> {
    asked.target.query().get("partNumber").and_then(part_number).ok_or_else(|| {
        S3Error::invalid_argument("Part number must be an integer between 1 and 10000, inclusive")
    })
}

impl Store {
    /// Checks that another bucket exists, under the guard of the first.
    ///
    /// # Errors
    /// `NoSuchBucket`.
    pub(crate) fn expect_bucket(&self, bucket: &str) -> Result<(), S3Error> {
        if self.objects_path(bucket).is_dir() { Ok(()) } else { Err(no_such_bucket()) }
    }

    /// An object whose data stay while the lease lives.
    ///
    /// # Errors
    /// `NoSuchKey`.
    pub(crate) fn hold(&self, bucket: &str, key: &str) -> Result<(Entry, Lease), S3Error> {
        let mut entry = self.entry(bucket, key)?.ok_or_else(S3Error::no_such_key)?;
        for _ in 0..ATTEMPTS {
            let lease = self.lease(&entry.data);
            let again = self.entry(bucket, key)?.ok_or_else(S3Error::no_such_key)?;
            // The object refers to the data while the lease is there: so they are.
            if again.data == entry.data {
                return Ok((again, lease));
            }
            entry = again;
        }
        Err(S3Error::slow_down())
    }

    /// Opens the content of an object for reading, from all of its files.
    pub(crate) fn source(
        &self,
        entry: &Entry,
        lease: Lease,
        range: &Range<u64>,
    ) -> io::Result<Source> {
        if entry.parts.is_none() {
            return Source::of_file(File::open(lease.path())?, range);
        }
        let (mut files, mut start) = (VecDeque::new(), 0);
        for part in Self::list(&lease)? {
            let end = start + part.len;
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                files.push_back((lease.path().join(&part.name), from - start..to - start));
            }
            start = end;
        }
        Ok(Source::of_files(files, lease))
    }

    /// The bytes of part `number` of an object; an object that was not uploaded in parts is one.
    ///
    /// # Errors
    /// `InvalidPartNumber`.
    pub(crate) fn part_range(
        &self,
        entry: &Entry,
        lease: &Lease,
        number: u16,
    ) -> Result<Range<u64>, S3Error> {
        if entry.parts.is_none() {
            return (number == 1).then_some(0..entry.len).ok_or_else(S3Error::invalid_part_number);
        }
        let mut start = 0;
        for (at, part) in Self::list(lease).map_err(|error| disk(&error))?.iter().enumerate() {
            if at + 1 == usize::from(number) {
                return Ok(start..start + part.len);
            }
            start += part.len;
        }
        Err(S3Error::invalid_part_number())
    }

    /// Reads the list of an object's parts.
    pub(crate) fn list(lease: &Lease) -> io::Result<Vec<Part>> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a list of parts is damaged");
        let text = read_small(&lease.path().join(LIST), MAX_LIST)?.ok_or_else(damaged)?;
        let parts = lines(&text, LIST_TITLE).ok_or_else(damaged)?.map(|(name, len)| {
            let known = parse_name(name).is_some();
            let len = len.parse().ok().filter(|_| known);
            len.map(|len| Part { name: name.to_owned(), len })
        });
        parts.collect::<Option<_>>().ok_or_else(damaged)
    }

    /// Starts an upload in parts, and returns its id.
    pub(crate) fn begin(&self, bucket: &str, key: &str, headers: HeaderMap) -> Result<Id, S3Error> {
        let _bucket = self.in_bucket(bucket)?;
        let id = Id::random()?;
        let path = self.upload_path(bucket, &id);
        let make = || -> io::Result<()> {
            fs::create_dir_all(path.join("parts"))?;
            write_new(&path.join("upload"), &Upload::new(key, headers).encode())?;
            sync_folder(&path)?;
            sync_folder(&self.uploads_path(bucket))
        };
        make().map_err(|error| disk(&error))?;
        Ok(id)
    }

    /// Returns the facts about an upload.
    ///
    /// # Errors
    /// `NoSuchUpload`, also if it is one of another key.
    pub(crate) fn upload(&self, bucket: &str, key: &str, id: &Id) -> Result<Upload, S3Error> {
        let path = self.upload_path(bucket, id).join("upload");
        let text = read_small(&path, 1 << 20).map_err(|error| disk(&error))?;
        text.as_deref()
            .and_then(Upload::decode)
            .filter(|upload| upload.key == key)
            .ok_or_else(S3Error::no_such_upload)
    }

    /// Makes a file a part, in place of one of the same number. Tells its entity tag and time.
    pub(crate) fn place_part(
        &self,
        bucket: &str,
        key: &str,
        id: &Id,
        number: u16,
        draft: Draft,
    ) -> Result<(String, Timestamp), S3Error> {
        let _bucket = self.in_bucket(bucket)?;
        let _key = self.lock_key(bucket, key);
        self.upload(bucket, key, id)?;
        let folder = self.upload_path(bucket, id).join("parts");
        let tag = Id::random()?;
        let start = format!("{:05}-", number);
        let name = format!("{start}{tag}");
        let place = || -> io::Result<()> {
            draft.place(&folder.join(&name))?;
            for other in fs::read_dir(&folder)? {
                let other = other?.file_name();
                let is_old = other.to_str().is_some_and(|it| it.starts_with(&start) && it != name);
                if is_old {
                    fs::remove_file(folder.join(other))?;
                }
            }
            sync_folder(&folder)
        };
        place().map_err(|error| disk(&error))?;
        Ok((format!("\"{tag}\""), Timestamp::of(SystemTime::now())))
    }

    /// The parts of an upload by their numbers.
    pub(crate) fn parts(&self, bucket: &str, id: &Id) -> Result<BTreeMap<u16, Uploaded>, S3Error> {
        let folder = self.upload_path(bucket, id).join("parts");
        let read = || -> io::Result<_> {
            let mut parts: BTreeMap<u16, Uploaded> = BTreeMap::new();
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let Some((number, etag)) = parse_name(&name) else { continue };
                let metadata = entry.metadata()?;
                let modified = metadata.modified()?;
                // A killed process may have left the part that another one replaced.
                if parts.get(&number).is_none_or(|known| known.modified < modified) {
                    parts.insert(number, Uploaded { name, len: metadata.len(), etag, modified });
                }
            }
            Ok(parts)
        };
        read().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => S3Error::no_such_upload(),
            _ => disk(&error),
        })
    }

    /// Makes an object of parts.
    pub(crate) fn complete(
        &self,
        bucket: &str,
        key: &str,
        id: &Id,
        named: &[CompletedPart],
        conditions: &HeaderMap,
    ) -> Result<Entry, S3Error> {
        let _bucket = self.in_bucket(bucket)?;
        let _key = self.lock_key(bucket, key);
        let upload = self.upload(bucket, key, id)?;
        let old = self.entry(bucket, key)?;
        check_write(conditions, old.as_ref())?;
        let mut parts = self.parts(bucket, id)?;
        let chosen = choose(&mut parts, named)?;
        let len = chosen.iter().map(|part| part.len).sum();
        if !is_object_size(conditions, len) {
            return Err(S3Error::other_object_size());
        }
        let count = u16::try_from(chosen.len()).map_err(|_| S3Error::malformed_xml())?;
        let mut list = Lines::new(LIST_TITLE);
        for part in &chosen {
            list.line(&part.name, part.len);
        }
        let path = self.upload_path(bucket, id);
        let parts_path = path.join("parts");
        let written = remove_all(&parts_path.join(LIST))
            .and_then(|()| write_new(&parts_path.join(LIST), &list.finish()))
            .and_then(|()| sync_folder(&parts_path));
        written.map_err(|error| disk(&error))?;
        let entry = Entry::new(Id::random()?, len, Some(count), upload.headers);
        self.replace(bucket, key, (&entry, old.as_ref()), Some(id), |data| {
            fs::rename(&parts_path, data)
        })?;
        // From here on the upload is an object. Files that are left over do no harm.
        let data = self.data_path(&entry.data);
        for part in parts.values() {
            let _ = fs::remove_file(data.join(&part.name));
        }
        let _ = remove_all(&path);
        Ok(entry)
    }

    /// Ends an upload without an object, and deletes its parts.
    pub(crate) fn abort(&self, bucket: &str, key: &str, id: &Id) -> Result<(), S3Error> {
        let _bucket = self.in_bucket(bucket)?;
        let _key = self.lock_key(bucket, key);
        self.upload(bucket, key, id)?;
        let path = self.upload_path(bucket, id);
        // First what makes it one.
        fs::remove_file(path.join("upload"))
            .and_then(|()| remove_all(&path))
            .map_err(|error| disk(&error))
    }

    /// All uploads of a bucket whose keys begin with `prefix`, in their order.
    pub(crate) fn uploads(
        &self,
        bucket: &str,
        prefix: &str,
    ) -> Result<Vec<(String, Id, u64)>, S3Error> {
        let _bucket = self.in_bucket(bucket)?;
        let read = || -> io::Result<_> {
            let mut uploads = Vec::new();
            for entry in fs::read_dir(self.uploads_path(bucket))? {
                let entry = entry?;
                let Some(id) = entry.file_name().to_str().and_then(Id::parse) else { continue };
                let text = read_small(&entry.path().join("upload"), 1 << 20)?;
                let upload = text.as_deref().and_then(Upload::decode);
                if let Some(upload) = upload.filter(|upload| upload.key.starts_with(prefix)) {
                    uploads.push((upload.key, id, upload.started));
                }
            }
            Ok(uploads)
        };
        let mut uploads = read().map_err(|error| disk(&error))?;
        uploads.sort_unstable();
        Ok(uploads)
    }
}

/// Takes the named parts out of those that are there.
///
/// # Errors
/// `InvalidPartOrder`, `InvalidPart`, `EntityTooSmall`.
fn choose(
    parts: &mut BTreeMap<u16, Uploaded>,
    named: &[CompletedPart],
) -> Result<Vec<Uploaded>, S3Error> {
    if named.windows(2).any(|pair| pair[0].number >= pair[1].number) {
        return Err(S3Error::invalid_part_order());
    }
    let mut chosen = Vec::with_capacity(named.len());
    for (at, part) in named.iter().enumerate() {
        let found = parts.remove(&part.number).ok_or_else(S3Error::invalid_part)?;
        if !is_tag(&part.etag, found.etag.as_str()) {
            return Err(S3Error::invalid_part());
        }
        if found.len < MIN_PART && at + 1 < named.len() {
            return Err(S3Error::too_small());
        }
        chosen.push(found);
    }
    Ok(chosen)
}

/// A part's number, 1 to 10,000.
fn part_number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|number| (1..=10_000).contains(number))
}

/// Parses the name of a part's file, `NNNNN-TAG`.
fn parse_name(name: &str) -> Option<(u16, Id)> {
    let (number, tag) = name.split_once('-')?;
    let number = part_number(number).filter(|_| number.len() == 5)?;
    Some((number, Id::parse(tag)?))
}

/// Writes a new file, durably but for its name.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
