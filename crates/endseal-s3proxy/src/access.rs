//! Access keys of clients, with their buckets and permissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use endseal_crypto::secret::Zeroizing;
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::sigv4::{SecretKey, SecretKeys, Signer};

use crate::credentials::BackendSigner;
use crate::glob::Glob;

/// Secret access key of S3. Clones share one copy, which is wiped when the last is dropped.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SecretAccessKey(Arc<Zeroizing<String>>);

impl SecretAccessKey {
    /// Takes ownership of a secret.
    #[must_use]
    pub fn new(secret: String) -> Self {
        Self(Arc::new(Zeroizing::new(secret)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the key that verifies and signs requests.
    #[must_use]
    pub fn to_key(&self) -> SecretKey {
        SecretKey::new(String::clone(&self.0))
    }
}

/// Set of the permissions `list`, `read`, `write` and `admin` of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions(u8);

impl Permissions {
    /// No permission.
    pub const NONE: Self = Self(0);
    /// List buckets, objects and uploads.
    pub const LIST: Self = Self(1);
    /// Read objects and their properties.
    pub const READ: Self = Self(2);
    /// Write and delete objects.
    pub const WRITE: Self = Self(4);
    /// Create and delete buckets, and change their settings.
    pub const ADMIN: Self = Self(8);
    /// All four permissions.
    pub const ALL: Self = Self(15);

    /// Returns the permission with this name, or `None` for an unknown name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "list" => Some(Self::LIST),
            "read" => Some(Self::READ),
            "write" => Some(Self::WRITE),
            "admin" => Some(Self::ADMIN),
            _ => None,
        }
    }

    /// Returns the union of both permission sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if this set contains all of `other`.
    #[must_use]
    pub const fn include(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Client of the proxy: an access key, its secret, its buckets and its permissions.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds a secret access key")]
pub struct Client {
    access_key: String,
    secret: SecretAccessKey,
    buckets: Vec<Glob>,
    permissions: Permissions,
    mapped: Option<(String, SecretAccessKey)>,
}

impl Client {
    /// Creates a client with all permissions in all buckets. The proxy uses its own credentials at
    /// the backend.
    #[must_use]
    pub fn new(access_key: &str, secret: SecretAccessKey) -> Self {
        Self {
            access_key: access_key.to_owned(),
            secret,
            buckets: vec![Glob::new("*")],
            permissions: Permissions::ALL,
            mapped: None,
        }
    }

    /// Restricts the client to these buckets. It can then no longer list all buckets, unless one of
    /// the patterns is `*`.
    #[must_use]
    pub fn with_buckets(mut self, buckets: Vec<Glob>) -> Self {
        self.buckets = buckets;
        self
    }

    /// Replaces the permissions of the client.
    #[must_use]
    pub const fn with_permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Gives the client credentials of its own at the backend.
    #[must_use]
    pub fn mapped(mut self, access_key: &str, secret: SecretAccessKey) -> Self {
        self.mapped = Some((access_key.to_owned(), secret));
        self
    }

    /// Returns true if the client has credentials of its own at the backend.
    #[must_use]
    pub const fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// Returns the access key of the client.
    #[must_use]
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// Returns true if the client may use this bucket. For `None`, returns true if it may use all
    /// buckets.
    #[must_use]
    pub fn may_use(&self, bucket: Option<&str>) -> bool {
        match bucket {
            Some(bucket) => self.buckets.iter().any(|glob| glob.matches(bucket)),
            None => self.buckets.iter().any(|glob| *glob == Glob::new("*")),
        }
    }

    /// Checks that the client may execute an operation on a target.
    ///
    /// # Errors
    /// `AccessDenied` if the client may not use the bucket or lacks a permission.
    pub(crate) fn check(
        &self,
        operation: Operation,
        method: &http::Method,
        target: &Target,
    ) -> Result<(), S3Error> {
        let needed = needed(operation, method, target);
        if self.may_use(target.bucket()) && self.permissions.include(needed) {
            Ok(())
        } else {
            Err(S3Error::access_denied())
        }
    }
}

/// Returns the permissions that an operation needs.
fn needed(operation: Operation, method: &http::Method, target: &Target) -> Permissions {
    match operation {
        Operation::GetObject
        | Operation::HeadObject
        | Operation::GetObjectAttributes
        | Operation::NotOnSealed => Permissions::READ,
        Operation::CopyObject | Operation::UploadPartCopy => {
            Permissions::READ.with(Permissions::WRITE)
        }
        Operation::PutObject
        | Operation::CreateMultipartUpload
        | Operation::UploadPart
        | Operation::CompleteMultipartUpload
        | Operation::AbortMultipartUpload
        | Operation::DeleteObjects
        | Operation::PostObject => Permissions::WRITE,
        Operation::ListParts | Operation::ListObjects | Operation::ListObjectVersions => {
            Permissions::LIST
        }
        Operation::Other => match (*method == http::Method::GET, *method == http::Method::HEAD) {
            (false, false) if target.key().is_some() => Permissions::WRITE,
            (false, false) => Permissions::ADMIN,
            _ if target.key().is_some() => Permissions::READ,
            _ => Permissions::LIST,
        },
    }
}

/// All clients by their access keys.
#[derive(Clone, Default)]
#[allow(missing_debug_implementations, reason = "it holds secret access keys")]
pub struct Clients(Arc<BTreeMap<String, Known>>);

/// Client with the key that verifies its requests and the signer for the backend, if it has its
/// own.
struct Known {
    client: Arc<Client>,
    secret: Arc<SecretKey>,
    signer: Option<BackendSigner>,
}

impl Clients {
    /// Builds the table of clients. `region` is that of the backend, for clients that have
    /// credentials of their own there. If several clients have the same access key, the last one
    /// wins.
    #[must_use]
    pub fn new(clients: &[Client], region: &str) -> Self {
        let known = |client: &Client| {
            let signer = client.mapped.as_ref().map(|(access_key, secret)| {
                let signer = Signer::new(access_key.clone(), secret.to_key(), region.to_owned());
                BackendSigner::Fixed(Arc::new(signer))
            });
            let secret = Arc::new(client.secret.to_key());
            (client.access_key.clone(), Known { client: Arc::new(client.clone()), secret, signer })
        };
        Self(Arc::new(clients.iter().map(known).collect()))
    }

    /// Returns the client with this access key.
    #[must_use]
    pub fn get(&self, access_key: &str) -> Option<&Arc<Client>> {
        Some(&self.0.get(access_key)?.client)
    }

    /// Returns the client with this access key, and its signer for the backend if it has its own.
    pub(crate) fn find(&self, access_key: &str) -> Option<(&Arc<Client>, Option<&BackendSigner>)> {
        self.0.get(access_key).map(|known| (&known.client, known.signer.as_ref()))
    }

    /// Returns the client's own signer for the backend; `None` if the proxy's signer is to be used.
    pub(crate) fn signer(&self, access_key: &str) -> Option<BackendSigner> {
        self.0.get(access_key)?.signer.clone()
    }
}

impl SecretKeys for Clients {
    fn secret_key(&self, access_key: &str) -> Option<Arc<SecretKey>> {
        Some(Arc::clone(&self.0.get(access_key)?.secret))
    }
}

#[cfg(test)]
mod tests {
    use endseal_s3_protocol::Operation;
    use endseal_s3_protocol::Target;
    use http::{HeaderMap, Method, Uri};

    use super::{Client, Permissions, SecretAccessKey};
    use crate::glob::Glob;

    fn allowed(client: &Client, method: Method, uri: &str) -> bool {
        let uri: Uri = uri.parse().unwrap();
        let target = Target::parse(&uri, None, &[]).unwrap();
        let operation = Operation::of(&method, &target, &HeaderMap::new());
        client.check(operation, &method, &target).is_ok()
    }

    #[test]
    fn a_reader_of_one_bucket_reads_there_alone() {
        let secret = SecretAccessKey::new("secret".to_owned());
        let reader = Client::new("reader", secret)
            .with_buckets(vec![Glob::new("logs-*")])
            .with_permissions(Permissions::LIST.with(Permissions::READ));
        for (method, uri, may) in [
            (Method::GET, "/logs-1/k", true),
            (Method::HEAD, "/logs-1/k", true),
            (Method::GET, "/logs-1", true),
            (Method::GET, "/logs-1/k?acl", true),
            (Method::PUT, "/logs-1/k", false),
            (Method::PUT, "/logs-1/k?acl", false),
            (Method::DELETE, "/logs-1/k", false),
            (Method::DELETE, "/logs-1", false),
            (Method::GET, "/other/k", false),
            (Method::GET, "/", false),
        ] {
            assert_eq!(allowed(&reader, method.clone(), uri), may, "{method} {uri}");
        }
    }
}
