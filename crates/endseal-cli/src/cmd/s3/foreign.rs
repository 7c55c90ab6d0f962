//! Options of `endseal s3 import` for objects of other systems.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use endseal_crypto::secret::Zeroizing;
use endseal_s3proxy::admin::{ForeignFormat, ForeignSource, RcloneRemote, S3epKeys};

use crate::config;
use crate::ctx::Ctx;
use crate::exposed;
use crate::failure::{Failure, Kind};

/// Systems whose objects are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum System {
    /// A crypt remote of rclone over S3
    RcloneCrypt,
    /// guided-traffic's s3-encryption-proxy
    S3ep,
}

/// Options for objects that another system sealed.
#[derive(clap::Args, Debug)]
pub(super) struct ForeignArgs {
    /// Open objects that another system sealed
    #[arg(long, value_enum, value_name = "SYSTEM")]
    from: Option<System>,
    /// Read the objects in another bucket, and leave them there
    ///
    /// With rclone-crypt, the default is the bucket and the path of the remote. Objects in BUCKET
    /// itself are replaced, and removed if they have another name then.
    #[arg(long, value_name = "BUCKET[/PREFIX]", requires = "from")]
    source: Option<String>,
    /// Put this before the keys under which the objects are sealed
    #[arg(long, value_name = "PREFIX", default_value = "", requires = "from")]
    into: String,
    /// Leave objects alone whose content nothing authenticates
    #[arg(long, requires = "from")]
    authentic_only: bool,
    /// Of rclone-crypt: configuration of rclone [default: ~/.config/rclone/rclone.conf]
    #[arg(long, value_name = "FILE", requires = "from")]
    rclone_config: Option<PathBuf>,
    /// Of rclone-crypt: name of the remote of type crypt
    #[arg(long, value_name = "NAME", required_if_eq("from", "rclone-crypt"))]
    remote: Option<String>,
    /// Of s3ep: file with an aes_key or a private_key_pem; can be repeated
    #[arg(long, value_name = "FILE", required_if_eq("from", "s3ep"))]
    key_file: Vec<PathBuf>,
    /// Of s3ep: metadata_key_prefix of its configuration [default: s3ep-]
    #[arg(long, value_name = "TEXT", requires = "key_file")]
    metadata_prefix: Option<String>,
}

impl ForeignArgs {
    /// Returns true if another system is named.
    pub(super) const fn is_given(&self) -> bool {
        self.from.is_some()
    }

    /// Returns the beginning of the keys under which objects are sealed.
    pub(super) fn under(&self, prefix: &str) -> String {
        format!("{}{prefix}", self.into)
    }
}

/// Returns the source that the options name, with its keys.
///
/// # Errors
/// Fails if options of one system are given with another, or keys cannot be read.
pub(super) fn source(
    args: &ForeignArgs,
    bucket: &str,
    ctx: &mut Ctx,
) -> Result<Option<ForeignSource>, Failure> {
    let Some(system) = args.from else { return Ok(None) };
    let is_of_other = match system {
        System::RcloneCrypt => !args.key_file.is_empty(),
        System::S3ep => args.remote.is_some() || args.rclone_config.is_some(),
    };
    if is_of_other {
        return Err(Failure::usage("an option of another system is given")
            .hint("--remote and --rclone-config are of rclone-crypt, --key-file is of s3ep"));
    }
    let (format, place) = match system {
        System::RcloneCrypt => {
            let remote = rclone(args, ctx)?;
            (ForeignFormat::RcloneCrypt(remote.crypt), place_of(&remote.remote))
        }
        System::S3ep => (ForeignFormat::S3ep(s3ep(args, ctx)?), Some(bucket.to_owned())),
    };
    let place = args.source.clone().or(place).ok_or_else(|| {
        Failure::usage("the remote lies in no bucket").hint("--source BUCKET/PREFIX says where")
    })?;
    let (source, prefix) = place.split_once('/').unwrap_or((&place, ""));
    let mut prefix = prefix.to_owned();
    if system == System::RcloneCrypt && !prefix.is_empty() && !prefix.ends_with('/') {
        prefix.push('/');
    }
    Ok(Some(ForeignSource {
        format,
        bucket: source.to_owned(),
        prefix,
        into: args.into.clone(),
        authentic_only: args.authentic_only,
    }))
}

/// Returns bucket and path of `NAME:BUCKET/PATH`. `None` for a path of this machine, or no bucket.
fn place_of(remote: &str) -> Option<String> {
    let (_, place) = remote.split_once(':')?;
    let place = place.trim_matches('/');
    (!place.is_empty()).then(|| place.to_owned())
}

fn rclone(args: &ForeignArgs, ctx: &mut Ctx) -> Result<RcloneRemote, Failure> {
    let name = args.remote.as_deref().unwrap_or_default();
    let default = || Some(config::folder(ctx.environment)?.parent()?.join("rclone/rclone.conf"));
    let path = args.rclone_config.clone().or_else(default).ok_or_else(|| {
        Failure::usage("the configuration of rclone is not known").hint("give --rclone-config FILE")
    })?;
    let content = read(&path, ctx)?;
    let text = core::str::from_utf8(&content).unwrap_or_default();
    RcloneRemote::read(text, name).map_err(|error| unusable(&path, &error))
}

fn s3ep(args: &ForeignArgs, ctx: &mut Ctx) -> Result<S3epKeys, Failure> {
    let mut keys = S3epKeys::new(args.metadata_prefix.as_deref());
    for path in &args.key_file {
        let content = read(path, ctx)?;
        keys.add(&content).map_err(|error| unusable(path, &error))?;
    }
    Ok(keys)
}

fn read(path: &Path, ctx: &mut Ctx) -> Result<Zeroizing<Vec<u8>>, Failure> {
    ctx.detail(&format!("reading '{}'", path.display()));
    exposed::warn(path, ctx);
    fs::read(path).map(Zeroizing::new).map_err(|error| {
        let what = format!("cannot read {}", path.display());
        Failure::new(Kind::Environment, what).because(&error)
    })
}

fn unusable(path: &Path, error: &(dyn core::error::Error + 'static)) -> Failure {
    let what = format!("cannot use {}", path.display());
    Failure::new(Kind::Configuration, what).because_text(error.to_string())
}
