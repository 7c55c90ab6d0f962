//! Comparison of secrets: AWS-LC's with `aws-lc`, elsewhere that of the crate `subtle`.

#[cfg(feature = "aws-lc")]
pub(crate) use super::aws_lc::constant_time_eq as eq;
#[cfg(not(feature = "aws-lc"))]
pub(crate) use portable as eq;

// Compiled beside the other one in tests, which compare the two.
#[cfg(any(not(feature = "aws-lc"), test))]
pub(crate) fn portable(a: &[u8], b: &[u8]) -> bool {
    subtle::ConstantTimeEq::ct_eq(a, b).into()
}
