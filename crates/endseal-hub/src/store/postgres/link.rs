//! A connection to a PostgreSQL server.

use core::error::Error as _;
use core::net::IpAddr;
use std::collections::HashMap;
use std::time::Duration;

use endseal_service::Trust;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Connection, Row, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::StorageError;

/// Statement before one about all rows, which may take long.
pub(super) const WITHOUT_TIMEOUT: &str = "SET statement_timeout = 0";
/// Statement after it.
pub(super) const WITH_TIMEOUT: &str = "SET statement_timeout = '60s'";

/// Longest time for a connection, for a packet that is not acknowledged, and for a lock.
const CONNECT: Duration = Duration::from_secs(5);
const UNANSWERED: Duration = Duration::from_secs(10);
/// A process that stops in a transaction must not keep its locks.
const SETTINGS: &str = "SET lock_timeout = '10s'; SET statement_timeout = '60s';
    SET idle_in_transaction_session_timeout = '10s'";

/// The address of a database and the authorities that vouch for its server.
#[derive(Clone)]
pub(super) struct Server {
    config: Config,
    tls: MakeRustlsConnect,
}

type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

impl Server {
    /// Parses an address. TLS is needed except on this machine, or with `sslmode=disable`.
    pub(super) fn parse(
        url: &str,
        password: Option<&str>,
        trust: Trust,
    ) -> Result<Self, StorageError> {
        // The name of the server is verified in any case.
        let url = url.replace("sslmode=verify-full", "sslmode=require");
        let mut config: Config =
            url.parse().map_err(|error| StorageError::Address(cause(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StorageError::Address(FORM.to_owned()));
        }
        if let Some(password) = password.filter(|_| config.get_password().is_none()) {
            config.password(password);
        }
        let is_local = config.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
            Host::Unix(_) => true,
        });
        // Addresses go before the names of hosts.
        let is_local = is_local && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        if config.get_ssl_mode() == SslMode::Prefer {
            // The certificate of a server on this machine is seldom one that anybody vouches for.
            config.ssl_mode(if is_local { SslMode::Disable } else { SslMode::Require });
        }
        config.connect_timeout(CONNECT).tcp_user_timeout(UNANSWERED).keepalives_idle(UNANSWERED);
        // With several hosts, a replica is not taken for the server.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.application_name("endseal-hub");
        Ok(Self { config, tls: MakeRustlsConnect::new(trust.config()) })
    }

    /// Connects. The caller runs the second value.
    pub(super) async fn connect(&self) -> Result<(Client, Driver), StorageError> {
        Ok(self.config.connect(self.tls.clone()).await?)
    }
}

const FORM: &str = "it is postgres://USER@HOST/NAME";

/// Returns the reason why an address is malformed, without a part of it that may be a password.
fn cause(error: &tokio_postgres::Error) -> String {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    match cause.starts_with("invalid value for option") {
        true => cause,
        false => FORM.to_owned(),
    }
}

/// A connection and its prepared statements.
pub(super) struct Link {
    pub(super) client: Client,
    statements: HashMap<&'static str, Statement>,
}

impl Link {
    pub(super) async fn open(server: &Server) -> Result<Self, StorageError> {
        let (client, driver) = server.connect().await?;
        // An error of the connection is that of its next statement.
        tokio::spawn(async move { drop(driver.await) });
        client.batch_execute(SETTINGS).await?;
        Ok(Self { client, statements: HashMap::new() })
    }

    /// True if the connection has broken, so that an error tells nothing of the statement.
    pub(super) fn has_ended(&self) -> bool {
        self.client.is_closed()
    }

    /// Returns a prepared statement.
    pub(super) async fn prepare(&mut self, sql: &'static str) -> Result<Statement, StorageError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StorageError> {
        let statement = self.prepare(sql).await?;
        Ok(self.client.query(&statement, parameters).await?)
    }

    pub(super) async fn query_opt(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, StorageError> {
        let statement = self.prepare(sql).await?;
        Ok(self.client.query_opt(&statement, parameters).await?)
    }

    pub(super) async fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, StorageError> {
        let statement = self.prepare(sql).await?;
        Ok(self.client.execute(&statement, parameters).await?)
    }
}

impl From<tokio_postgres::Error> for StorageError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(&SqlState::DISK_FULL) => Self::Full,
            // Two transactions have met: deadlock, serialisation, or the same new row.
            Some(
                &SqlState::T_R_DEADLOCK_DETECTED
                | &SqlState::T_R_SERIALIZATION_FAILURE
                | &SqlState::UNIQUE_VIOLATION,
            ) => Self::Conflict,
            _ => Self::Database(Box::new(error)),
        }
    }
}

/// Reads a column.
pub(super) fn column<'r, T>(row: &'r Row, at: usize) -> Result<T, StorageError>
where
    T: tokio_postgres::types::FromSql<'r>,
{
    Ok(row.try_get(at)?)
}

pub(super) fn unsigned(row: &Row, at: usize) -> Result<u64, StorageError> {
    u64::try_from(column::<i64>(row, at)?).map_err(|_| StorageError::Format("a number is negative"))
}

pub(super) fn bytes<const N: usize>(row: &Row, at: usize) -> Result<[u8; N], StorageError> {
    column::<&[u8]>(row, at)?
        .try_into()
        .map_err(|_| StorageError::Format("a value has another length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> Result<SslMode, String> {
        let server = Server::parse(url, None, Trust::public());
        server.map(|it| it.config.get_ssl_mode()).map_err(|error| error.to_string())
    }

    #[test]
    fn only_connections_on_this_machine_are_not_encrypted() {
        for url in [
            "postgres://hub@127.0.0.1/hub",
            "postgres://hub@localhost/hub",
            "postgres://hub@[::1]/hub",
            "postgres://hub@%2Frun%2Fpostgresql/hub",
            "postgres://hub@/hub?hostaddr=127.0.0.2",
            "postgres://hub@db.example/hub?sslmode=disable",
        ] {
            assert_eq!(mode(url), Ok(SslMode::Disable), "{url}");
        }
        for url in [
            "postgres://hub@db.example/hub",
            "postgres://hub@127.0.0.1,db.example/hub",
            "postgres://hub@/hub?hostaddr=192.0.2.2",
            "postgres://hub@localhost/hub?hostaddr=192.0.2.2",
            "postgres://hub@127.0.0.1/hub?sslmode=require",
            "postgres://hub@db.example/hub?sslmode=verify-full",
        ] {
            assert_eq!(mode(url), Ok(SslMode::Require), "{url}");
        }
    }

    #[test]
    fn a_malformed_address_is_said_without_its_password() {
        let error = mode("postgres://hub@db.example/hub?sslmode=allow").unwrap_err();
        assert!(error.contains("sslmode"), "{error}");
        for url in ["", "hub.db", "postgres://hub@h/n?x=secret"] {
            let error = mode(url).expect_err(url);
            assert!(
                error.contains("postgres://USER@HOST/NAME") && !error.contains("ret"),
                "{error}"
            );
        }
    }
}
