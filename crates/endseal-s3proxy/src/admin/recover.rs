//! Opens the objects of a bare copy of a bucket: their bytes in a folder, without metadata, as
//! `aws s3 sync`, `tar` or `rclone sync` leave them.
//!
//! The copy of the header at the end of each object is enough, together with the key provider. A
//! file is written beside its place first, and gets its name when all of it is authentic.

use std::fs::{self, DirBuilder, DirEntry, File, FileType, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_kms::{KeyId, KeyProvider, ProviderError};
use endseal_s3_format::{
    AuthenticationFailed, ContentKey, Form, Header, Place, RESERVED_PREFIX, RangePlan, Record,
    Taken, WholeOpener, size,
};

use super::fault::Fault;
use super::pages::client_key;
use crate::bucket::BucketRule;
use crate::config::Keys;
use crate::start::{StartError, provider};

/// Length of the buffer for sealed bytes.
const BUFFER: usize = 256 * 1024;

/// Begins the name of a file that is being written, beside its place. A random number follows.
const UNFINISHED: &str = ".endseal-recover-";

/// Options of [`recover()`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "nothing of it can be left out")]
pub struct Recover {
    /// Folder with the bare copy. Paths below it are the backend's keys.
    pub from: PathBuf,
    /// Folder for the content, which is created for its owner only. Existing files stay.
    pub to: PathBuf,
    /// Name of the bucket that the copy was made of.
    pub bucket: String,
    /// Also opens objects that were written at another place, as the backend's copies are. Who
    /// could write to the copy may have exchanged them.
    pub moved: bool,
}

/// Result for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovered {
    /// The content was written. The value is its length in bytes.
    Written(u64),
    /// There is a file already, as long as the content, and it was left alone.
    Present,
    /// The object is not sealed.
    Plaintext,
    /// The object was written at another place, and was left alone.
    Moved,
    /// The object does not authenticate.
    NotAuthentic,
    /// The object could not be opened or written.
    Failed(Fault),
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoverReport {
    /// Objects with the result [`Recovered::Written`].
    pub written: u64,
    /// Bytes of content of these objects.
    pub bytes: u64,
    /// Objects with the result [`Recovered::Present`].
    pub present: u64,
    /// Objects with the result [`Recovered::Plaintext`].
    pub plaintext: u64,
    /// Objects with the result [`Recovered::Moved`].
    pub moved: u64,
    /// Objects with the result [`Recovered::NotAuthentic`].
    pub not_authentic: u64,
    /// Objects with the result [`Recovered::Failed`].
    pub failed: u64,
}

impl RecoverReport {
    /// Returns true if the content of every object is there.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        let left = self.plaintext + self.moved + self.not_authentic + self.failed;
        left == 0
    }

    fn count(&mut self, outcome: &Recovered) {
        let counter = match outcome {
            Recovered::Written(bytes) => {
                self.bytes += bytes;
                &mut self.written
            }
            Recovered::Present => &mut self.present,
            Recovered::Plaintext => &mut self.plaintext,
            Recovered::Moved => &mut self.moved,
            Recovered::NotAuthentic => &mut self.not_authentic,
            Recovered::Failed(_) => &mut self.failed,
        };
        *counter += 1;
    }
}

/// Opens all objects of a bare copy. `rule` is that of the bucket: its names, its binding and the
/// name that it is sealed under. `on` gets the client's key and the result of each object. Must be
/// called in a tokio runtime.
///
/// # Errors
/// [`StartError`] if the keys cannot be read, or one of the folders cannot be read or made. Later
/// faults are counted and reported.
pub async fn recover(
    keys: &Keys,
    rule: &BucketRule,
    options: &Recover,
    mut on: impl FnMut(&str, &Recovered),
) -> Result<RecoverReport, StartError> {
    let run = Run { provider: provider(keys)?, rule, options };
    let mut report = RecoverReport::default();
    let of_file = |path: &Path, error: io::Error| StartError::of_file(path, error);
    make_folder(&options.to).map_err(|error| of_file(&options.to, error))?;
    let real = |path: &Path| fs::canonicalize(path).map_err(|error| of_file(path, error));
    let (from, to) = (real(&options.from)?, real(&options.to)?);
    if to.starts_with(&from) || from.starts_with(&to) {
        let why = "is the folder of the copy, or one of the two lies in the other";
        return Err(StartError::of_file(&options.to, why));
    }
    let mut folders = vec![from.clone()];
    while let Some(folder) = folders.pop() {
        let mut tell = |name: &str, outcome: Recovered| {
            report.count(&outcome);
            on(name, &outcome);
        };
        let below = |path: &Path| {
            let path = path.strip_prefix(&from).unwrap_or(path);
            path.to_string_lossy().into_owned()
        };
        let entries = match sorted(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                tell(&below(&folder), failed(&error.to_string()));
                continue;
            }
        };
        for (path, kind) in entries {
            let stored = path.strip_prefix(&from).ok().and_then(Path::to_str);
            if stored.is_some_and(|stored| stored == RESERVED_PREFIX.trim_end_matches('/')) {
                continue;
            }
            match stored {
                _ if kind.is_dir() => folders.push(path),
                Some(stored) if kind.is_file() => {
                    let (key, outcome) = run.object(&path, stored).await;
                    tell(&key, outcome);
                }
                Some(stored) => tell(stored, failed("it is no file, but a link or a device")),
                None => tell(&below(&path), failed("its name is not UTF-8")),
            }
        }
    }
    Ok(report)
}

/// Returns the entries of a folder in the order of their names.
fn sorted(folder: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
    let entry = |entry: io::Result<DirEntry>| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?))
    };
    let mut entries = fs::read_dir(folder)?.map(entry).collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}

struct Run<'a> {
    provider: Arc<dyn KeyProvider>,
    rule: &'a BucketRule,
    options: &'a Recover,
}

/// Reason why an object was not opened.
enum Refusal {
    Outcome(Recovered),
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<AuthenticationFailed> for Refusal {
    fn from(_: AuthenticationFailed) -> Self {
        Self::Outcome(Recovered::NotAuthentic)
    }
}

impl Run<'_> {
    /// Opens one object. Returns its key, as clients name it, and the result.
    async fn object(&self, path: &Path, stored: &str) -> (String, Recovered) {
        let bucket = self.rule.sealed_as.as_deref().unwrap_or(&self.options.bucket);
        let names = self.rule.names.as_ref().map(|names| names.of(bucket));
        let (key, _) = client_key(names.as_deref(), stored);
        let outcome = match self.open(path, bucket, &key).await {
            Ok(outcome) | Err(Refusal::Outcome(outcome)) => outcome,
            Err(Refusal::Io(error)) => Recovered::Failed(Fault::new(error.to_string())),
        };
        (key, outcome)
    }

    async fn open(&self, path: &Path, bucket: &str, key: &str) -> Result<Recovered, Refusal> {
        let mut file = File::open(path)?;
        let sealed_len = file.metadata()?.len();
        let Some(content_len) = size::plaintext_len(sealed_len) else {
            return Ok(Recovered::Plaintext);
        };
        let copy = end(&mut file, sealed_len, size::HEADER_COPY_LEN as u64)?;
        if !Header::has_copy(&copy) {
            return Ok(Recovered::Plaintext);
        }
        let header = Header::parse_copy(&copy)?;
        let content_key = self.unwrap(&header).await?;
        header.verify(&content_key)?;
        let place = Place::new(bucket, key).ok_or(AuthenticationFailed)?;
        let is_here = header.verify_place(&content_key, &place, self.rule.binding).is_ok();
        if !is_here && !self.options.moved {
            return Ok(Recovered::Moved);
        }
        let Some(target) = below(&self.options.to, key) else {
            return Ok(failed("its key is no path of a file"));
        };
        if let Ok(there) = target.symlink_metadata() {
            return Ok(match there.is_file() && there.len() == content_len {
                true => Recovered::Present,
                false => failed("something else is in the place of its file"),
            });
        }
        let folder = target.parent().unwrap_or(&self.options.to);
        make_folder(folder)?;
        let mut random = [0; 8];
        OsRandom.fill(&mut random).map_err(|_| io::Error::other("no randomness"))?;
        let unfinished = folder.join(format!("{UNFINISHED}{:016x}", u64::from_be_bytes(random)));
        let out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        let object = Object { header: &header, key: &content_key, content_len, sealed_len };
        let written = object.write(&mut file, out);
        // A link never replaces a file that another process has made meanwhile.
        let written = written.and_then(|()| Ok(fs::hard_link(&unfinished, &target)?));
        let _ = fs::remove_file(&unfinished);
        written?;
        File::open(folder)?.sync_all()?;
        Ok(Recovered::Written(content_len))
    }

    async fn unwrap(&self, header: &Header) -> Result<ContentKey, Refusal> {
        let id = KeyId::new(header.key_id()).map_err(|_| AuthenticationFailed)?;
        let (context, wrapped) = (Header::wrap_context(), header.wrapped_key());
        self.provider.unwrap(&id, context, wrapped).await.map_err(|error| match error {
            ProviderError::AuthenticationFailed => AuthenticationFailed.into(),
            ProviderError::UnknownKey => Refusal::Outcome(failed(&format!(
                "its key {} is not here: use the ring from before the key was removed",
                header.key_id()
            ))),
            error => Refusal::Outcome(failed(&error.to_string())),
        })
    }
}

fn failed(why: &str) -> Recovered {
    Recovered::Failed(Fault::new(why))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Returns the path of a key below a folder. `None` if the key is no relative path of plain names.
fn below(folder: &Path, key: &str) -> Option<PathBuf> {
    let path = Path::new(key);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    // A path with empty parts or dots would be shortened, and be another key's, too.
    let is_same = path.components().collect::<PathBuf>().as_os_str() == key;
    (is_plain && is_same && !key.contains('\0')).then(|| folder.join(path))
}

/// Returns the last `wanted` bytes of a file of `len` bytes, or all of it.
fn end(file: &mut File, len: u64, wanted: u64) -> io::Result<Vec<u8>> {
    let wanted = wanted.min(len);
    file.seek(SeekFrom::Start(len - wanted))?;
    let mut end = Vec::new();
    file.take(wanted).read_to_end(&mut end)?;
    Ok(end)
}

/// Object whose content key is known.
struct Object<'a> {
    header: &'a Header,
    key: &'a ContentKey,
    content_len: u64,
    sealed_len: u64,
}

impl Object<'_> {
    /// Opens all of the content.
    fn write(&self, file: &mut File, mut out: File) -> Result<(), Refusal> {
        match self.header.form() {
            Form::Whole => {
                let mut opener = WholeOpener::new(self.header, self.key)?;
                pump(file, 0..self.sealed_len, &mut out, |buffer| opener.open(buffer))?;
                let (last, _) = opener.finish()?;
                out.write_all(&last)?;
            }
            Form::Multipart => {
                let tail = end(file, self.sealed_len, size::tail_len_max(self.content_len))?;
                let record = Record::open_tail(self.header, self.key, self.sealed_len, &tail)?;
                let plan = RangePlan::multipart(&record, 0..self.content_len);
                let plan = plan.ok_or(AuthenticationFailed)?;
                let sealed = plan.sealed();
                let mut opener = plan.opener(self.header, self.key, None)?;
                pump(file, sealed, &mut out, |buffer| opener.open(buffer))?;
                opener.finish()?;
            }
        }
        Ok(out.sync_all()?)
    }
}

/// Passes a range of a file through an opener.
fn pump(
    file: &mut File,
    range: core::ops::Range<u64>,
    out: &mut File,
    mut open: impl FnMut(&mut [u8]) -> Result<Taken, AuthenticationFailed>,
) -> Result<(), Refusal> {
    file.seek(SeekFrom::Start(range.start))?;
    let mut source = file.take(range.end - range.start);
    let mut buffer = vec![0; BUFFER];
    let mut filled = 0;
    loop {
        let read = source.read(&mut buffer[filled..])?;
        if read == 0 {
            // The opener knows whether something is missing.
            return Ok(());
        }
        filled += read;
        let taken = open(&mut buffer[..filled])?;
        out.write_all(&buffer[..taken.content])?;
        buffer.copy_within(taken.sealed..filled, 0);
        filled -= taken.sealed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_paths_have_no_file() {
        let folder = Path::new("/out");
        for key in ["a", "a/b c", "..a/b..", "ä/+"] {
            assert_eq!(below(folder, key), Some(folder.join(key)));
        }
        for key in ["/a", "a/", "a//b", "./a", "a/./b", "a/..", "../a", "a\0b"] {
            assert_eq!(below(folder, key), None, "{key:?}");
        }
    }
}
