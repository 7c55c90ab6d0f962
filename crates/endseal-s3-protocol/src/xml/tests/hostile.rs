use endseal_testing::SplitMix64;

use super::super::tree::Tree;
use super::super::*;

fn refused(xml: &str) -> XmlError {
    root_name(xml.as_bytes()).unwrap_err()
}

#[test]
fn what_is_no_document_is_refused() {
    for wrong in [
        "",
        " ",
        "text",
        "<",
        "<a",
        "<a>",
        "</a>",
        "<a></b>",
        "<a></a></a>",
        "<a/><b/>",
        "<a/>text",
        "text<a/>",
        "<a><b></a></b>",
        "<a>&amp</a>",
        "<a>& </a>",
        "&amp;<a/>",
        "<![CDATA[x]]><a/>",
        "<a><!-- -- --></a>",
        "<a><!-- </a>",
        "<a><![CDATA[</a>",
        "<a>&#xD800;</a>",
        "<a>&#0;</a>",
        "<a>&#x110000;</a>",
        "<a>&#;</a>",
        "<a/><?xml version=\"1.0\"?>",
    ] {
        assert_eq!(refused(wrong), XmlError::Syntax, "{wrong}");
    }
    assert_eq!(root_name(b"<a>\xff</a>"), Err(XmlError::NotUtf8));
    assert_eq!(root_name(b"\xfe\xff\x00<\x00a"), Err(XmlError::NotUtf8));
    assert_eq!(refused("<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>"), XmlError::NotUtf8);
    assert_eq!(
        root_name("\u{feff}<?xml version=\"1.0\"?><!-- x --> <a/>\n".as_bytes()).as_deref(),
        Ok("a")
    );
}

#[test]
fn nothing_is_expanded() {
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;&b;\">]><a>&c;</a>";
    assert_eq!(refused(bomb), XmlError::DocumentType);
    let external = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>";
    assert_eq!(refused(external), XmlError::DocumentType);
    for entity in ["<a>&b;</a>", "<a>&nbsp;</a>", "<a>&AMP;</a>"] {
        assert_eq!(refused(entity), XmlError::DocumentType);
    }
}

#[test]
fn size_depth_and_number_are_bounded() {
    let deep = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert!(root_name(deep(16).as_bytes()).is_ok());
    assert_eq!(refused(&deep(17)), XmlError::TooComplex);
    assert_eq!(refused(&"<a>".repeat(1_000_000)), XmlError::TooComplex);
    assert!(root_name(format!("<a>{}</a>", "<b/>".repeat(99_999)).as_bytes()).is_ok());
    assert_eq!(refused(&format!("<a>{}</a>", "<b/>".repeat(100_000))), XmlError::TooComplex);
    assert_eq!(refused(&format!("<a>{}</a>", " ".repeat(MAX_DOCUMENT))), XmlError::TooLong);
    assert_eq!(refused(&format!("<a {}/>", "b='c' ".repeat(2_000_000))), XmlError::TooLong);
}

#[test]
fn errors_are_those_of_s3() {
    for error in [XmlError::Syntax, XmlError::TooMany, XmlError::Missing("Key")] {
        assert_eq!((error.code(), error.status()), ("MalformedXML", 400));
        assert!(error.to_string().starts_with("The XML you provided"));
    }
}

#[test]
fn mutated_lists_stay_lists_or_are_refused() {
    let seed = "<?xml version=\"1.0\"?><ListBucketResult a=\"b\"><Prefix/><KeyCount>2</KeyCount>\
        <EncodingType>url</EncodingType><Contents><Key>a%20<![CDATA[b]]>&amp;</Key><Size>1</Size>\
        <ETag/></Contents><CommonPrefixes><Prefix>x</Prefix></CommonPrefixes></ListBucketResult>";
    let words: [&[u8]; 14] = [
        b"<",
        b">",
        b"/",
        b"&",
        b";",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"<Contents>",
        b"</Contents>",
        b"<Key/>",
        b"&#65;",
        b"\xff",
    ];
    let (mut random, mut good) = (SplitMix64::new(5), 0);
    for _ in 0..60_000 {
        let mut xml = seed.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let place = random.below(xml.len());
            match random.below(4) {
                0 => xml[place] = random.byte(),
                1 => {
                    let end = (place + random.below(30)).min(xml.len());
                    xml.drain(place..end);
                }
                2 => {
                    let word = words[random.below(words.len())];
                    xml.splice(place..place, word.iter().copied());
                }
                _ => {
                    let end = (place + random.below(60)).min(xml.len());
                    let copy = xml[place..end].to_vec();
                    xml.splice(place..place, copy);
                }
            }
            if xml.is_empty() {
                xml.push(b'<');
            }
        }
        let same = rewrite(&xml, |_: &Entry<'_>| Change::Keep);
        if let Ok(same) = same {
            assert_eq!(same, xml.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&xml));
            good += 1;
        }
        // After every change the result is a well-formed document.
        let changed = rewrite(&xml, |entry: &Entry<'_>| match entry.kind {
            EntryKind::CommonPrefix => Change::Drop,
            _ => Change::Set(Replacement {
                key: Some("<&>\u{1}".into()),
                size: Some(7),
                etag: Some("\"".into()),
                checksum: ChecksumChange::Drop,
                ..Default::default()
            }),
        });
        if let Ok(changed) = changed {
            assert!(Tree::parse(&changed).is_ok(), "{}", String::from_utf8_lossy(&changed));
        }
        let _ = (read_complete(&xml), read_delete(&xml), read_parts(&xml), Fields::read(&xml));
    }
    assert!(good > 1_000, "{good}");
}
