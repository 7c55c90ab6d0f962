//! Rust text with comments and literals blanked out, so that a word found in it is code.
//!
//! Every byte that is blanked becomes a space and line ends stay, so positions and line numbers are
//! those of the file. This is a lexer for comments and literals only, not a parser.

/// Returns the text with comments, strings and character literals blanked out.
pub(crate) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = token_end(bytes, at);
        match end {
            Some(end) => {
                blank(&mut out, at, end);
                at = end;
            }
            // Words are skipped whole: the last letter must not be taken for the `r` or `b` that
            // opens a raw or byte string.
            None if is_word(bytes[at]) => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
            }
            None => at += 1,
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Returns `code` without the items that are compiled only for tests.
pub(crate) fn product_code(text: &str) -> String {
    let code = code(text);
    let mut out = code.clone().into_bytes();
    let mut at = 0;
    while let Some(found) = code[at..].find("#[") {
        let start = at + found;
        let attribute_end = matching(code.as_bytes(), start + 1, b'[', b']');
        let attribute: String =
            code[start..attribute_end].chars().filter(|c| !c.is_whitespace()).collect();
        at = attribute_end;
        if is_for_tests(&attribute) {
            at = item_end(code.as_bytes(), attribute_end);
            blank(&mut out, start, at);
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Returns true if the whole file is compiled only for tests, measurements or examples.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
        || path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples"))
}

/// Returns the lines, counted from one, on which `word` occurs as a whole word.
pub(crate) fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    let is_found = |line: &str| {
        line.match_indices(word).any(|(start, _)| {
            let before = line[..start].bytes().next_back();
            let after = line[start + word.len()..].bytes().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    };
    let number = |(index, line)| is_found(line).then_some(index + 1);
    code.lines().enumerate().filter_map(number).collect()
}

fn is_for_tests(attribute: &str) -> bool {
    let condition = attribute.strip_prefix("#[cfg(").map(|rest| rest.trim_end_matches(")]"));
    match condition {
        Some(condition) => {
            let mut parts = condition.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            parts.any(|part| part == "test") && !condition.contains("not(test")
        }
        None => attribute == "#[test]",
    }
}

/// Returns the end of the comment or literal that starts at `at`, if one does.
fn token_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return Some(find(bytes, at, b"\n").unwrap_or(bytes.len()));
    }
    if rest.starts_with(b"/*") {
        return Some(block_comment_end(bytes, at));
    }
    // b"", c"", r"", br"", cr"" and b''.
    let prefix = rest.iter().take(2).take_while(|byte| matches!(byte, b'b' | b'c' | b'r')).count();
    let raw = rest[..prefix].contains(&b'r');
    let body = at + prefix;
    let hashes = bytes[body..].iter().take_while(|byte| **byte == b'#').count();
    match bytes.get(body + hashes) {
        Some(b'"') if raw => {
            let closing = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            let start = body + hashes + 1;
            Some(find(bytes, start, &closing).map_or(bytes.len(), |end| end + closing.len()))
        }
        Some(b'"') if hashes == 0 => Some(quoted_end(bytes, body, b'"')),
        Some(b'\'') if hashes == 0 && !raw => character_end(bytes, body),
        _ => None,
    }
}

/// Returns the end of a character literal; `None` if the quote opens a lifetime or a label.
fn character_end(bytes: &[u8], quote: usize) -> Option<usize> {
    let next = *bytes.get(quote + 1)?;
    if next == b'\\' {
        return Some(quoted_end(bytes, quote, b'\''));
    }
    let width = match next {
        0x00..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
    };
    (bytes.get(quote + 1 + width) == Some(&b'\'')).then_some(quote + 2 + width)
}

fn quoted_end(bytes: &[u8], quote: usize, closing: u8) -> usize {
    let mut at = quote + 1;
    while at < bytes.len() && bytes[at] != closing {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Returns the end of the item that follows an attribute: its `;`, its `,` or its closing brace.
fn item_end(code: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < code.len() {
        match code[at] {
            b';' | b',' => return at + 1,
            b'(' => at = matching(code, at, b'(', b')'),
            b'[' => at = matching(code, at, b'[', b']'),
            b'<' => at = angle_end(code, at),
            b'{' => return matching(code, at, b'{', b'}'),
            // The end of the block around the item: a last field or arm without a comma.
            b'}' | b')' => return at,
            _ => at += 1,
        }
    }
    code.len()
}

/// Returns the end of generic arguments, whose commas end no item. A lone `<` is a comparison.
fn angle_end(code: &[u8], start: usize) -> usize {
    let line = find(code, start, b"\n").unwrap_or(code.len());
    let end = matching(&code[..line], start, b'<', b'>');
    if end == line && code.get(end.wrapping_sub(1)) != Some(&b'>') { start + 1 } else { end }
}

/// Returns the position after the bracket that closes the one at `start`.
fn matching(code: &[u8], start: usize, open: u8, close: u8) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code[start..].iter().enumerate() {
        if *byte == open {
            depth += 1;
        } else if *byte == close {
            depth -= 1;
            if depth == 0 {
                return start + offset + 1;
            }
        }
    }
    code.len()
}

fn find(bytes: &[u8], start: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(start..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|found| start + found)
}

fn blank(out: &mut [u8], start: usize, end: usize) {
    for byte in &mut out[start..end] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        for text in [
            "// unsafe\n",
            "/* a /* unsafe */ unsafe */",
            "let a = \"\\\" unsafe\";",
            "let a = r#\"\" unsafe \"#;",
            "let a = br\"\\\"; // unsafe",
            "let a = b\"unsafe\";",
            "let a = ('\"', \"unsafe\");",
            "let a = ('\\'', \"unsafe\");",
            "let a = ('\u{e9}', \"unsafe\");",
        ] {
            assert!(lines_with_word(&code(text), "unsafe").is_empty(), "{text}");
            assert_eq!(code(text).len(), text.len());
        }
    }

    #[test]
    fn code_stays_where_it_was() {
        for text in [
            "fn f<'a>(x: &'a u8) { unsafe {} }",
            "let r = 'x'; unsafe {}",
            "let var = \"\"; unsafe {}",
            "/* one\n*/ unsafe {}",
            "br; r#unsafe; 'r: loop { unsafe {} }",
        ] {
            assert_eq!(lines_with_word(&code(text), "unsafe").len(), 1, "{text}");
        }
        assert_eq!(lines_with_word(&code("\n/* one\n*/ unsafe {}"), "unsafe"), [3]);
    }

    #[test]
    fn only_whole_words_count() {
        assert!(lines_with_word("#![forbid(unsafe_code)] not_unsafe", "unsafe").is_empty());
    }

    #[test]
    fn items_for_tests_are_no_product_code() {
        for text in [
            "#[cfg(test)]\nmod tests { fn f() { todo } }",
            "#[cfg(any(test, fuzzing))]\nmod fuzz { todo }",
            "#[cfg(all(test, feature = \"std\"))] use todo;",
            "#[test]\nfn f() -> [u8; 2] { todo }",
            "struct S { #[cfg(test)] todo: Vec<Vec<u8>> }",
            "#[cfg(test)] fn f<A, B>(a: A, b: B) { todo }",
        ] {
            assert!(lines_with_word(&product_code(text), "todo").is_empty(), "{text}");
        }
    }

    #[test]
    fn what_follows_an_item_for_tests_is_product_code() {
        for text in [
            "#[cfg(test)] mod tests { }\nfn f() { todo }",
            "#[cfg(not(test))] fn f() { todo }",
            "#[cfg(test)] use a;\nfn f() { todo }",
            "#[cfg(feature = \"test\")] fn f() { todo }",
            "#[derive(Debug)] struct S { todo: u8 }",
        ] {
            assert_eq!(lines_with_word(&product_code(text), "todo").len(), 1, "{text}");
        }
    }

    #[test]
    fn test_files_are_known_by_their_place() {
        assert!(is_test_file("crates/a/tests/it/main.rs"));
        assert!(is_test_file("crates/a/src/tests.rs"));
        assert!(is_test_file("crates/a/examples/vectors.rs"));
        assert!(!is_test_file("crates/a/src/lib.rs"));
    }
}
