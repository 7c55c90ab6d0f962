//! Contract in Rust: values, fields with their presence and bounds, and the declarations of
//! messages and `oneof`s made of them.

pub(crate) mod contract;
pub(crate) mod field;
pub(crate) mod list;
pub(crate) mod message;
pub(crate) mod oneof;
pub(crate) mod oneof_field;
pub(crate) mod place;
pub(crate) mod unknown;
pub(crate) mod value;

pub(crate) use field::{Field, Implicit, Optional, Repeated, Required, Written};
pub(crate) use message::{Schema, Seen};
pub(crate) use oneof::Choice;
pub(crate) use oneof_field::{Later, OneOf};
pub(crate) use value::{
    Bool, Boxed, Bytes, Fixed, Nested, Open, OpenEnum, Text, UNBOUNDED, Uint32, Uint64, Value,
};
