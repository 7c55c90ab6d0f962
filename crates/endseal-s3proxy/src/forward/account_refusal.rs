//! Answers of the backend that refuse the account with which the proxy signs its requests.
//!
//! The proxy signs every request to the backend itself. A wrong secret, region or clock is a fault
//! of its configuration and not of the client, whose signature was verified before.

use endseal_s3_protocol::S3Error;

/// S3's error codes for a signature, a token or an account that a server does not accept.
const CODES: [&str; 12] = [
    "AccountProblem",
    "AuthorizationHeaderMalformed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidSecurity",
    "InvalidToken",
    "NotSignedUp",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "SignatureVersionNotSupported",
    "TokenRefreshRequired",
];

/// Kind of the error for a refused account, as it is named in logs.
const KIND: &str = "backend_account";

/// Returns the error for a code with which the backend refuses the account, or `None` for another
/// code.
pub(super) fn refusal(code: &str, cause: &str) -> Option<S3Error> {
    CODES.contains(&code).then(|| S3Error::account_refused().because(KIND, cause))
}

/// Returns true for an error of [`refusal`].
pub(super) fn is_refusal(error: &S3Error) -> bool {
    error.kind() == Some(KIND)
}
