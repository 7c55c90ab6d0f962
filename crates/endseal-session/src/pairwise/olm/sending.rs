//! Decoder of the sending ratchet, the one value in a pickle that is self-describing: a field says
//! which of two forms it has.
//!
//! serde reads such a value only from a self-describing format, which postcard is not. Therefore
//! its fields are read here in the order in which vodozemac 0.11 writes them, and passed on as a
//! map.

use postcard::de_flavors::Slice;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use zeroize::Zeroizing;

/// Reader of a pickle in postcard.
pub(super) type Reader<'de> = postcard::Deserializer<'de, Slice<'de>>;

pub(super) struct SendingRatchet<'a, 'de>(pub(super) &'a mut Reader<'de>);

impl SendingRatchet<'_, '_> {
    fn read(self) -> postcard::Result<Value> {
        let reader = self.0;
        match <&str>::deserialize(&mut *reader)? {
            "inactive" => Ok(Value::Map(vec![
                ("type", Value::Text("inactive")),
                ("root_key", Value::Map(vec![("key", key(reader)?)])),
                ("ratchet_key", key(reader)?),
                ("ratchet_count", count(reader)?),
            ])),
            "active" => Ok(Value::Map(vec![
                ("type", Value::Text("active")),
                ("parent_ratchet_key", optional_key(reader)?),
                ("ratchet_count", count(reader)?),
                (
                    "active_ratchet",
                    Value::Map(vec![("root_key", key(reader)?), ("ratchet_key", key(reader)?)]),
                ),
                (
                    "symmetric_key_ratchet",
                    Value::Map(vec![("key", key(reader)?), ("index", number(reader)?)]),
                ),
            ])),
            _ => Err(postcard::Error::DeserializeBadEnum),
        }
    }
}

fn key(reader: &mut Reader<'_>) -> postcard::Result<Value> {
    Deserialize::deserialize(reader).map(|key| Value::Key(Zeroizing::new(key)))
}

fn optional_key(reader: &mut Reader<'_>) -> postcard::Result<Value> {
    let key: Option<[u8; 32]> = Deserialize::deserialize(reader)?;
    Ok(key.map_or(Value::Nothing, |key| Value::Key(Zeroizing::new(key))))
}

fn number(reader: &mut Reader<'_>) -> postcard::Result<Value> {
    Deserialize::deserialize(reader).map(Value::Number)
}

/// Reads the number of ratchet steps: an enum of a known number and an unknown one.
fn count(reader: &mut Reader<'_>) -> postcard::Result<Value> {
    match u32::deserialize(&mut *reader)? {
        0 => Ok(Value::Map(vec![("Known", number(reader)?)])),
        1 => Ok(Value::Map(vec![("Unknown", Value::Nothing)])),
        _ => Err(postcard::Error::DeserializeBadEnum),
    }
}

impl<'de> Deserializer<'de> for SendingRatchet<'_, 'de> {
    type Error = postcard::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> postcard::Result<V::Value> {
        self.read()?.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Self-describing value for serde.
enum Value {
    Key(Zeroizing<[u8; 32]>),
    Map(Vec<(&'static str, Self)>),
    Nothing,
    Number(u64),
    Text(&'static str),
}

impl<'de> Deserializer<'de> for Value {
    type Error = postcard::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> postcard::Result<V::Value> {
        match self {
            Self::Key(key) => visitor.visit_seq(SeqDeserializer::new(key.iter().copied())),
            Self::Map(fields) => visitor.visit_map(MapDeserializer::new(fields.into_iter())),
            Self::Nothing => visitor.visit_unit(),
            Self::Number(number) => visitor.visit_u64(number),
            Self::Text(text) => visitor.visit_str(text),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl IntoDeserializer<'_, postcard::Error> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
