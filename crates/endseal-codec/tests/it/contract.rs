//! Compares the `.proto` file with the code: names, numbers, types, bounds, presence.

use std::collections::BTreeMap;
use std::fs;

use endseal_codec::contract::{self, Presence, Type};

/// A field in a form in which the file's description and the code's can be compared.
#[derive(Debug, PartialEq)]
struct Line {
    name: String,
    number: u32,
    r#type: String,
    presence: String,
    bounds: (usize, usize),
}

#[test]
fn the_proto_files_and_the_code_agree() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto/endseal/v1");
    let text = |name: &str| fs::read_to_string(format!("{folder}/{name}.proto")).unwrap();
    let proto = Proto::parse(&(text("message") + &text("hub")));
    let messages = contract::messages();
    let names: Vec<&str> = messages.iter().map(|message| message.name).collect();
    let mut expected: Vec<&str> = proto.messages.iter().map(|message| &*message.0).collect();
    let order: Vec<&str> = expected.clone();
    expected.retain(|name| names.contains(name));
    assert_eq!(expected, order, "every message of the file is in the code");
    assert_eq!(names.len(), order.len());
    for message in &messages {
        let lines = &proto.messages.iter().find(|it| it.0 == message.name).unwrap().1;
        let ours: Vec<Line> = message.fields.iter().map(|field| line(field, &proto)).collect();
        assert_eq!(&ours, lines, "{}", message.name);
    }
}

fn line(field: &contract::FieldContract, proto: &Proto) -> Line {
    let mut bounds = (0, usize::MAX);
    let r#type = match field.r#type {
        Type::Bytes { min, max } => {
            bounds = (min, max);
            "bytes".to_owned()
        }
        Type::String { min, max } => {
            bounds = (min, max);
            "string".to_owned()
        }
        Type::Uint64 => "uint64".to_owned(),
        Type::Uint32 => "uint32".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Enum { name, values } => {
            let values: Vec<(String, u32)> =
                values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            assert_eq!(proto.enums.get(name), Some(&values), "values of {name}");
            name.to_owned()
        }
        Type::Message { name } => name.to_owned(),
        Type::Map { key, value } => {
            assert_eq!((key, value), ((1, 64), (0, 4096)));
            "map<string,bytes>".to_owned()
        }
        other => panic!("{other:?}"),
    };
    let presence = match field.presence {
        Presence::Required => "required".to_owned(),
        Presence::Implicit => "implicit".to_owned(),
        Presence::Optional => "optional".to_owned(),
        Presence::OneOf { name, required } => {
            format!("oneof {name}{}", if required { " required" } else { "" })
        }
        Presence::Repeated { min, max } => format!("repeated {min}..{max}"),
        other => panic!("{other:?}"),
    };
    Line { name: field.name.to_owned(), number: field.number, r#type, presence, bounds }
}

#[derive(Default)]
struct Proto {
    messages: Vec<(String, Vec<Line>)>,
    enums: BTreeMap<String, Vec<(String, u32)>>,
}

impl Proto {
    /// Parses the subset of the language that this file uses: one declaration a line, bounds in its
    /// comment.
    fn parse(text: &str) -> Self {
        let mut proto = Self::default();
        let (mut oneof, mut enumeration, mut required) = (None, None, false);
        for line in text.lines() {
            let (code, comment) = line.split_once("//").unwrap_or((line, ""));
            let words: Vec<&str> =
                code.split([' ', ';', '{']).filter(|it| !it.is_empty()).collect();
            match words.as_slice() {
                // A comment before a oneof.
                [] => required = comment.trim() == "required",
                ["message", name] => proto.messages.push(((*name).to_owned(), Vec::new())),
                ["oneof", name] => {
                    let required = if required { " required" } else { "" };
                    oneof = Some(format!("oneof {name}{required}"));
                }
                ["enum", name] => {
                    enumeration = Some((*name).to_owned());
                    proto.enums.insert((*name).to_owned(), Vec::new());
                }
                ["}"] => {
                    // The closing brace ends the innermost declaration. None contains another of
                    // its kind.
                    if oneof.take().is_none() {
                        enumeration = None;
                    }
                }
                ["syntax" | "package", ..] => {}
                [name, "=", value] => {
                    let values = proto.enums.get_mut(enumeration.as_ref().unwrap()).unwrap();
                    values.push(((*name).to_owned(), value.parse().unwrap()));
                }
                [head @ .., name, "=", number] => {
                    let line = field(head, name, number, comment, oneof.as_deref());
                    proto.messages.last_mut().unwrap().1.push(line);
                }
                other => panic!("{other:?}"),
            }
        }
        for (_, lines) in &mut proto.messages {
            lines.sort_by_key(|line| line.number);
        }
        proto
    }
}

fn field(head: &[&str], name: &str, number: &str, comment: &str, oneof: Option<&str>) -> Line {
    let mut brackets = comment.split('[').skip(1).map(|rest| {
        let bounds = rest.split_once(']').unwrap().0;
        match bounds.split_once("..") {
            Some((min, "")) => (min.parse().unwrap(), usize::MAX),
            Some((min, max)) => (min.parse().unwrap(), max.parse().unwrap()),
            None => (bounds.parse().unwrap(), bounds.parse().unwrap()),
        }
    });
    let bounds = brackets.next().unwrap_or((0, usize::MAX));
    // The bounds of an element follow a count: `[1..1024] ids of [16]`.
    let inner = brackets.next();
    let required = comment.split(',').any(|part| part.trim() == "required");
    let required = required || comment.trim().starts_with("required");
    let (label, r#type) = match head {
        ["repeated", r#type] => ("repeated", (*r#type).to_owned()),
        ["optional", r#type] => ("optional", (*r#type).to_owned()),
        ["map<string,", "bytes>"] => ("repeated", "map<string,bytes>".to_owned()),
        [r#type] => ("", (*r#type).to_owned()),
        other => panic!("{other:?}"),
    };
    let any = (0, usize::MAX);
    let (presence, bounds) = match (label, oneof) {
        ("repeated", _) => {
            let inner = inner.filter(|_| r#type == "bytes").unwrap_or(any);
            (format!("repeated {}..{}", bounds.0, bounds.1), inner)
        }
        ("optional", _) => ("optional".to_owned(), bounds),
        (_, Some(oneof)) => (oneof.to_owned(), bounds),
        _ if required => ("required".to_owned(), bounds),
        // A byte string of one fixed length that is not required has no default value, so it must
        // be optional.
        _ if r#type == "bytes" && bounds.0 == bounds.1 => ("optional".to_owned(), bounds),
        _ => ("implicit".to_owned(), bounds),
    };
    Line { name: name.to_owned(), number: number.parse().unwrap(), r#type, presence, bounds }
}
