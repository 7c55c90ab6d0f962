//! Configuration of the MLS library.

use mls_rs::client_builder::{
    BaseConfig, WithCryptoProvider, WithGroupStateStorage, WithIdentityProvider,
    WithKeyPackageRepo, WithMlsRules,
};

use super::credential::Credentials;
use super::provider::Provider;
use super::rules::Rules;
use super::storage_adapter::StorageAdapter;

/// Configuration type of the MLS library, with the extensions of this crate.
pub(super) type Config = WithKeyPackageRepo<
    StorageAdapter,
    WithGroupStateStorage<
        StorageAdapter,
        WithMlsRules<
            Rules,
            WithIdentityProvider<Credentials, WithCryptoProvider<Provider, BaseConfig>>,
        >,
    >,
>;
