//! The folder on the disk: buckets, and objects that are replaced in one step. Everything here
//! blocks, and is called where it may.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use endseal_s3_protocol::S3Error;

use crate::data::{Draft, Lease, Leases, remove_all};
use crate::entry::{Entry, Pending};
use crate::fault::{bucket_exists, bucket_not_empty, disk, no_such_bucket};
use crate::id::Id;
use crate::names;
use crate::walk::Walk;

/// Name of the file that marks a folder as one of this program.
pub(crate) const MARK: &str = "endseal-folder";
const MARK_TEXT: &str = "endseal-folder 1\n";

/// Longest entry of an object: headers that a request may have, escaped, and a few lines.
const MAX_ENTRY: u64 = 1 << 20;

/// Locks of keys; keys that share one wait for each other.
const LOCKS: usize = 64;

/// Greatest number of attempts to make a folder whose last key was deleted meanwhile.
const ATTEMPTS: usize = 100;

/// The folder in which buckets and objects lie, with the locks that protect them.
#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
    /// Held while objects are written, so that no bucket goes away under them.
    buckets: RwLock<()>,
    keys: [Mutex<()>; LOCKS],
    leases: Arc<Leases>,
    temporaries: AtomicU64,
    /// Holds the lock of the folder, which is released when the file is closed.
    _mark: File,
}

impl Store {
    /// Opens a folder, makes it if it is missing, and removes the remains of a killed process.
    ///
    /// # Errors
    /// If another process has it, if it is no such folder, or if the disk reports an error.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let path = root.join(MARK);
        if !path.exists() && fs::read_dir(root)?.next().is_some() {
            let message = "the folder is neither empty nor one of ours";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut mark =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if mark.try_lock().is_err() {
            let message = "another process serves this folder";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        let mut text = String::new();
        io::Read::by_ref(&mut mark).take(64).read_to_string(&mut text)?;
        match text.as_str() {
            "" => {
                mark.write_all(MARK_TEXT.as_bytes())?;
                mark.sync_all()?;
            }
            MARK_TEXT => {}
            _ => {
                let message = "the folder is of another version";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        let store = Self {
            root: root.to_owned(),
            buckets: RwLock::default(),
            keys: core::array::from_fn(|_| Mutex::default()),
            leases: Arc::default(),
            temporaries: AtomicU64::new(0),
            _mark: mark,
        };
        for folder in ["buckets", "data", "pending", "temporary"] {
            fs::create_dir_all(root.join(folder))?;
        }
        for left in fs::read_dir(root.join("temporary"))? {
            fs::remove_file(left?.path())?;
        }
        for pending in fs::read_dir(root.join("pending"))? {
            store.recover(&pending?.path())?;
        }
        sync_folder(root)?;
        Ok(store)
    }

    /// Finishes the work of a killed process: data without an entry are deleted, or become parts
    /// again.
    fn recover(&self, pending: &Path) -> io::Result<()> {
        let id = pending.file_name().and_then(|name| name.to_str()).and_then(Id::parse);
        let known = fs::read_to_string(pending).ok().and_then(|text| Pending::decode(&text));
        // A record that is not whole was written before anything else was done.
        if let (Some(id), Some(known)) = (id, known) {
            let entry = self.entry_path(&known.bucket, &known.key);
            let is_used = load(&entry)?.is_some_and(|entry| entry.data == id);
            let upload = known.upload.map(|upload| self.upload_path(&known.bucket, &upload));
            match upload {
                Some(upload) if is_used => drop(remove_all(&upload)),
                Some(upload) if upload.exists() && !upload.join("parts").exists() => {
                    match fs::rename(self.data_path(&id), upload.join("parts")) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => {}
                    }
                }
                _ if is_used => {}
                _ => remove_all(&self.data_path(&id))?,
            }
        }
        fs::remove_file(pending)
    }

    pub(crate) fn bucket_path(&self, bucket: &str) -> PathBuf {
        self.root.join("buckets").join(bucket)
    }

    pub(crate) fn objects_path(&self, bucket: &str) -> PathBuf {
        self.bucket_path(bucket).join("objects")
    }

    pub(crate) fn uploads_path(&self, bucket: &str) -> PathBuf {
        self.bucket_path(bucket).join("uploads")
    }

    pub(crate) fn upload_path(&self, bucket: &str, id: &Id) -> PathBuf {
        self.uploads_path(bucket).join(id.as_str())
    }

    fn entry_path(&self, bucket: &str, key: &str) -> PathBuf {
        self.objects_path(bucket).join(names::path_of(key))
    }

    pub(crate) fn data_path(&self, id: &Id) -> PathBuf {
        let id = id.as_str();
        self.root.join("data").join(id.get(..2).unwrap_or_default()).join(id)
    }

    fn pending_path(&self, id: &Id) -> PathBuf {
        self.root.join("pending").join(id.as_str())
    }

    /// A name for something that is being written.
    pub(crate) fn temporary_path(&self) -> PathBuf {
        let number = self.temporaries.fetch_add(1, Ordering::Relaxed);
        self.root.join("temporary").join(number.to_string())
    }

    /// A file that becomes data, or a part.
    pub(crate) fn draft(&self) -> Result<Draft, S3Error> {
        Draft::new(self.temporary_path()).map_err(|error| disk(&error))
    }

    /// Keeps data, also after they were replaced.
    pub(crate) fn lease(&self, id: &Id) -> Lease {
        let (path, pending) = (self.data_path(id), self.pending_path(id));
        Leases::lease(&self.leases, id, path, pending)
    }

    /// Makes sure that a bucket stays while the result lives.
    ///
    /// # Errors
    /// `NoSuchBucket`.
    pub(crate) fn in_bucket(&self, bucket: &str) -> Result<RwLockReadGuard<'_, ()>, S3Error> {
        let guard = self.buckets.read().unwrap_or_else(PoisonError::into_inner);
        match self.objects_path(bucket).is_dir() {
            true => Ok(guard),
            false => Err(no_such_bucket()),
        }
    }

    pub(crate) fn lock_key(&self, bucket: &str, key: &str) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (bucket, key).hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or_default();
        self.keys[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of buckets in order, and when each was made.
    pub(crate) fn buckets(&self) -> Result<Vec<(String, std::time::SystemTime)>, S3Error> {
        let read = || -> io::Result<Vec<_>> {
            let mut buckets = Vec::new();
            for entry in fs::read_dir(self.root.join("buckets"))? {
                let entry = entry?;
                if let Ok(name) = entry.file_name().into_string()
                    && entry.path().join("objects").is_dir()
                {
                    buckets.push((name, self.made(&entry.path())?));
                }
            }
            Ok(buckets)
        };
        let mut buckets = read().map_err(|error| disk(&error))?;
        buckets.sort_unstable();
        Ok(buckets)
    }

    fn made(&self, bucket: &Path) -> io::Result<std::time::SystemTime> {
        fs::metadata(bucket.join("bucket"))?.modified()
    }

    /// Makes an empty bucket, durably.
    pub(crate) fn create_bucket(&self, bucket: &str) -> Result<(), S3Error> {
        let _all = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        let path = self.bucket_path(bucket);
        let make = || -> io::Result<bool> {
            if path.join("objects").is_dir() {
                return Ok(false);
            }
            fs::create_dir_all(path.join("uploads"))?;
            File::create(path.join("bucket"))?.sync_all()?;
            // Last: a bucket without it is none.
            fs::create_dir_all(path.join("objects"))?;
            sync_folder(&path)?;
            sync_folder(&self.root.join("buckets"))?;
            Ok(true)
        };
        match make() {
            Ok(true) => Ok(()),
            Ok(false) => Err(bucket_exists()),
            Err(error) => Err(disk(&error)),
        }
    }

    /// Deletes a bucket without objects, together with its unfinished uploads.
    pub(crate) fn delete_bucket(&self, bucket: &str) -> Result<(), S3Error> {
        let _all = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        let objects = self.objects_path(bucket);
        if !objects.is_dir() {
            return Err(no_such_bucket());
        }
        if Walk::new(&objects, "", "").next_key()?.is_some() {
            return Err(bucket_not_empty());
        }
        remove_all(&objects)
            .and_then(|()| remove_all(&self.bucket_path(bucket)))
            .and_then(|()| sync_folder(&self.root.join("buckets")))
            .map_err(|error| disk(&error))
    }

    /// Returns the facts about an object.
    pub(crate) fn entry(&self, bucket: &str, key: &str) -> Result<Option<Entry>, S3Error> {
        load(&self.entry_path(bucket, key)).map_err(|error| disk(&error))
    }

    /// Makes `entry` the object of that key. The closure `place` moves the data to their final
    /// path. The caller MUST hold the bucket and the key's lock, and have checked conditions
    /// against `old`.
    pub(crate) fn replace(
        &self,
        bucket: &str,
        key: &str,
        (entry, old): (&Entry, Option<&Entry>),
        upload: Option<&Id>,
        place: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), S3Error> {
        let path = self.entry_path(bucket, key);
        let pending = |id: &Id, upload: Option<&Id>| {
            let (bucket, key) = (bucket.to_owned(), key.to_owned());
            let pending = Pending { bucket, key, upload: upload.cloned() };
            fs::write(self.pending_path(id), pending.encode())
        };
        let write = || -> io::Result<()> {
            pending(&entry.data, upload)?;
            let data = self.data_path(&entry.data);
            let folder = data.parent().unwrap_or(&self.root);
            if !folder.is_dir() {
                fs::create_dir_all(folder)?;
                sync_folder(&self.root.join("data"))?;
            }
            place(&data)?;
            sync_folder(folder)?;
            if let Some(old) = old {
                pending(&old.data, None)?;
            }
            self.write_entry(&path, &self.objects_path(bucket), entry)
        };
        if let Err(error) = write() {
            // As after a crash: what nothing refers to goes, parts become parts again.
            let _ = self.recover(&self.pending_path(&entry.data));
            if let Some(old) = old {
                let _ = self.recover(&self.pending_path(&old.data));
            }
            return Err(disk(&error));
        }
        let _ = fs::remove_file(self.pending_path(&entry.data));
        if let Some(old) = old {
            self.discard(&old.data);
        }
        Ok(())
    }

    fn write_entry(&self, path: &Path, objects: &Path, entry: &Entry) -> io::Result<()> {
        let temporary = self.temporary_path();
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        let written = file
            .write_all(entry.encode().as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| {
                let mut attempts = 0;
                loop {
                    make_folders(path, objects)?;
                    match fs::rename(&temporary, path) {
                        // The last other key of the folder was deleted in between.
                        Err(error)
                            if error.kind() == io::ErrorKind::NotFound && attempts < ATTEMPTS =>
                        {
                            attempts += 1;
                        }
                        done => break done,
                    }
                }
            });
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        sync_folder(path.parent().unwrap_or(objects))
    }

    /// Deletes an object; nothing if there is none. `check` sees what is there before.
    pub(crate) fn delete(
        &self,
        bucket: &str,
        key: &str,
        check: impl FnOnce(Option<&Entry>) -> Result<(), S3Error>,
    ) -> Result<(), S3Error> {
        let _bucket = self.in_bucket(bucket)?;
        let _key = self.lock_key(bucket, key);
        let old = self.entry(bucket, key)?;
        check(old.as_ref())?;
        let Some(old) = old else { return Ok(()) };
        let path = self.entry_path(bucket, key);
        let remove = || -> io::Result<()> {
            let pending = Pending { bucket: bucket.to_owned(), key: key.to_owned(), upload: None };
            fs::write(self.pending_path(&old.data), pending.encode())?;
            fs::remove_file(&path)?;
            sync_folder(path.parent().unwrap_or(&self.root))
        };
        remove().map_err(|error| disk(&error))?;
        names::prune(&path, &self.objects_path(bucket));
        self.discard(&old.data);
        Ok(())
    }

    /// Deletes data to which no entry refers any more, after the last reader has finished.
    fn discard(&self, id: &Id) {
        // Each reader holds a lease, and the last one deletes the data.
        self.lease(id).doom();
    }
}

/// Reads an entry, if there is one.
pub(crate) fn load(path: &Path) -> io::Result<Option<Entry>> {
    match read_small(path, MAX_ENTRY)? {
        None => Ok(None),
        Some(text) => Entry::decode(&text)
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "an entry is damaged")),
    }
}

/// Reads a small file, if there is one.
pub(crate) fn read_small(path: &Path, limit: u64) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        // A component of the path may be gone, or its name too long for the file system.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Makes the folders above an entry, durably.
fn make_folders(path: &Path, objects: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    for above in folder.ancestors().skip(1).take_while(|above| above.starts_with(objects)) {
        match sync_folder(above) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Forces the names in a folder to the disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
