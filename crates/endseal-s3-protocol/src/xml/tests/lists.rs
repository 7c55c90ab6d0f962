use super::super::*;
use super::text;
use crate::checksum::{ChecksumKind, ChecksumType, ChecksumValue};

/// Version 2 with a folder, unknown elements, attributes, a comment, references, CDATA and blanks.
const BUCKET: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n\
<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\" x='<'>\n  \
<Name>bucket</Name><Prefix/><StartAfter>a&amp;b</StartAfter><KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys>\
<IsTruncated>false</IsTruncated><!-- by hand -->\
<Contents><Key>my-image.jpg</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>\
<ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size> 434335 </Size>\
<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>\
<StorageClass>STANDARD</StorageClass><Owner><ID>1</ID></Owner><Unknown a=\"b\"><Key>x</Key></Unknown></Contents>\n\
<Contents><Key><![CDATA[a<b>]]>&#x1;&#233;</Key><ETag>\"e\"</ETag><Size>0</Size></Contents>\
<CommonPrefixes><Prefix>photos/</Prefix></CommonPrefixes></ListBucketResult>\n";

fn rewritten(xml: &str, rules: impl Rules) -> String {
    text(rewrite(xml.as_bytes(), rules).unwrap())
}

#[test]
fn a_list_left_alone_is_the_same_to_the_byte() {
    let mut entries = Vec::new();
    let same = rewritten(BUCKET, |entry: &Entry<'_>| {
        entries.push((entry.kind, entry.key.as_deref().map(str::to_owned), entry.size));
        Change::Keep
    });
    assert_eq!(same, BUCKET);
    assert_eq!(
        entries,
        [
            (EntryKind::Object, Some("my-image.jpg".into()), Some(434_335)),
            (EntryKind::Object, Some("a<b>\u{1}é".into()), Some(0)),
            (EntryKind::CommonPrefix, Some("photos/".into()), None),
        ]
    );
}

#[test]
fn only_what_is_set_changes() {
    let out = rewritten(BUCKET, |entry: &Entry<'_>| match entry.size {
        Some(434_335) => Change::Set(Replacement {
            size: Some(434_000),
            etag: Some("\"new-0\"".into()),
            checksum: ChecksumChange::Drop,
            ..Replacement::default()
        }),
        _ => Change::Keep,
    });
    let expected = BUCKET
        .replace("<Size> 434335 </Size>", "<Size>434000</Size>")
        .replace("&quot;fba9dede5f27731c9771645a39863328&quot;", "&quot;new-0&quot;")
        .replace("<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm>", "")
        .replace("<ChecksumType>FULL_OBJECT</ChecksumType>", "");
    assert_eq!(out, expected);
}

#[test]
fn dropped_entries_are_not_counted() {
    let out = rewritten(BUCKET, |entry: &Entry<'_>| match entry.kind {
        EntryKind::CommonPrefix => Change::Drop,
        _ if entry.size == Some(0) => Change::Drop,
        _ => Change::Keep,
    });
    assert!(out.contains("<KeyCount>1</KeyCount>") && !out.contains("photos/"));
    assert!(!out.contains("CDATA") && out.contains("my-image.jpg") && out.ends_with("Result>\n"));
    entries(out.as_bytes(), |entry| assert_eq!(entry.kind, EntryKind::Object)).unwrap();
}

struct Translate;

impl Rules for Translate {
    fn entry(&mut self, entry: &Entry<'_>) -> Change {
        let key = entry.key.as_ref().map(|key| format!("{key}/ü &<>"));
        Change::Set(Replacement { key, ..Replacement::default() })
    }

    fn name(&mut self, name: Name, value: &str) -> Option<String> {
        Some(format!("{name:?}({value})"))
    }
}

#[test]
fn names_are_translated_and_escaped() {
    let out = rewritten(BUCKET, Translate);
    assert!(out.contains("<Prefix>Prefix()</Prefix>"), "{out}");
    assert!(out.contains("<StartAfter>Marker(a&amp;b)</StartAfter>"));
    assert!(out.contains("<Key>my-image.jpg/ü &amp;&lt;&gt;</Key>"));
    assert!(out.contains("<Key>a&lt;b&gt;&#x1;é/ü &amp;&lt;&gt;</Key>"));
    assert!(out.contains("<Prefix>photos//ü &amp;&lt;&gt;</Prefix>"));
    // A key within something unknown is not the entry's.
    assert!(out.contains("<Unknown a=\"b\"><Key>x</Key></Unknown>"));
}

#[test]
fn url_encoded_lists_are_decoded_and_encoded() {
    let xml = "<ListBucketResult><Prefix>a%2Bb+c</Prefix><Marker></Marker><Delimiter>%2F</Delimiter>\
        <NextMarker>%C3%BC</NextMarker><EncodingType>url</EncodingType>\
        <Contents><Key>a%2Bb+c/d</Key><Size>1</Size></Contents>\
        <CommonPrefixes><Prefix>x/</Prefix><Prefix>y/</Prefix></CommonPrefixes></ListBucketResult>";
    let mut seen = Vec::new();
    entries(xml.as_bytes(), |entry| seen.push(entry.key.as_deref().unwrap().to_owned())).unwrap();
    assert_eq!(seen, ["a+b c/d", "x/", "y/"]);
    let out = rewritten(xml, Translate);
    for part in [
        "<Prefix>Prefix%28a%2Bb%20c%29</Prefix>",
        "<Marker>Marker%28%29</Marker>",
        "<NextMarker>NextMarker%28%C3%BC%29</NextMarker>",
        "<Key>a%2Bb%20c/d/%C3%BC%20%26%3C%3E</Key>",
        "<Delimiter>%2F</Delimiter>",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // One prefix of two goes alone, both with what is around them.
    let one = rewritten(xml, |entry: &Entry<'_>| match entry.key.as_deref() {
        Some("x/") => Change::Drop,
        _ => Change::Keep,
    });
    assert!(one.contains("<CommonPrefixes><Prefix>y/</Prefix></CommonPrefixes>"));
    let none = rewritten(xml, |entry: &Entry<'_>| match entry.kind {
        EntryKind::CommonPrefix => Change::Drop,
        _ => Change::Keep,
    });
    assert!(!none.contains("CommonPrefixes"));
    for wrong in ["%", "%ff"] {
        let xml = xml.replace("x/", wrong);
        assert_eq!(entries(xml.as_bytes(), |_| ()), Err(XmlError::Invalid("Key")));
    }
}

#[test]
fn versions_and_delete_markers_are_entries() {
    let xml = "<ListVersionsResult><Name>b</Name><KeyMarker>k</KeyMarker><VersionIdMarker/>\
        <NextKeyMarker>n</NextKeyMarker><IsTruncated>true</IsTruncated>\
        <Version><Key>a</Key><VersionId>v1</VersionId><IsLatest>true</IsLatest><ETag>\"e\"</ETag><Size>116</Size></Version>\
        <DeleteMarker><Key>a</Key><VersionId>v2</VersionId></DeleteMarker></ListVersionsResult>";
    let mut seen = Vec::new();
    let out = rewritten(xml, |entry: &Entry<'_>| {
        seen.push((entry.kind, entry.version_id.as_deref().unwrap().to_owned()));
        match entry.kind {
            EntryKind::Version => Change::Set(Replacement { size: Some(8), ..Default::default() }),
            _ => Change::Drop,
        }
    });
    assert_eq!(seen, [(EntryKind::Version, "v1".into()), (EntryKind::DeleteMarker, "v2".into())]);
    assert!(out.contains("<Size>8</Size>") && !out.contains("DeleteMarker"));
    let named = rewritten(xml, Translate);
    assert!(named.contains("<KeyMarker>Marker(k)</KeyMarker>"));
    assert!(named.contains("<NextKeyMarker>NextMarker(n)</NextKeyMarker>"));
}

#[test]
fn uploads_are_filtered_and_renamed() {
    let xml = "<ListMultipartUploadsResult><Bucket>b</Bucket><KeyMarker/><UploadIdMarker/>\
        <Upload><Key>.endseal/x</Key><UploadId>1</UploadId></Upload>\
        <Upload><Key>k</Key><UploadId>2</UploadId><Initiator><ID>i</ID></Initiator></Upload>\
        </ListMultipartUploadsResult>";
    let out = rewritten(xml, |entry: &Entry<'_>| {
        assert_eq!(entry.kind, EntryKind::Upload);
        if entry.key.as_deref().is_some_and(|key| key.starts_with(".endseal/")) {
            return Change::Drop;
        }
        let upload_id = entry.upload_id.as_deref().map(|id| format!("id-{id}"));
        Change::Set(Replacement { upload_id, ..Default::default() })
    });
    assert!(!out.contains(".endseal") && out.contains("<UploadId>id-2</UploadId>"));
    assert!(out.contains("<Initiator><ID>i</ID></Initiator>"));
}

const PARTS: &str = "<ListPartsResult><Bucket>b</Bucket><Key>k</Key><UploadId>u</UploadId>\
    <PartNumberMarker>0</PartNumberMarker><NextPartNumberMarker>3</NextPartNumberMarker>\
    <MaxParts>2</MaxParts><IsTruncated>true</IsTruncated>\
    <Part><PartNumber>2</PartNumber><LastModified>2010-11-10T20:48:34.000Z</LastModified>\
    <ETag>\"7778\"</ETag><Size>10485760</Size></Part>\
    <Part><PartNumber>3</PartNumber><ETag>\"aaaa\"</ETag><Size>10485761</Size>\
    <ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part><Owner/></ListPartsResult>";

struct Parts(Vec<ListedPart>);

impl Rules for Parts {
    fn entry(&mut self, entry: &Entry<'_>) -> Change {
        let number = entry.part_number.unwrap();
        let etag = Some(format!("\"{number}-0\""));
        let checksum = ChecksumChange::Drop;
        Change::Set(Replacement { etag, size: Some(number), checksum, ..Default::default() })
    }

    fn name(&mut self, name: Name, value: &str) -> Option<String> {
        match name {
            Name::Key | Name::UploadId => Some(value.repeat(2)),
            _ => None,
        }
    }

    fn more_parts(&mut self) -> Vec<ListedPart> {
        self.0.clone()
    }
}

#[test]
fn parts_are_read_changed_and_added() {
    let page = read_parts(PARTS.as_bytes()).unwrap();
    assert_eq!(page.next, Some(3));
    assert_eq!((page.parts[0].number, page.parts[0].size), (2, 10_485_760));
    assert_eq!(page.parts[0].last_modified.as_deref(), Some("2010-11-10T20:48:34.000Z"));
    assert_eq!(
        (page.parts[1].etag.as_str(), page.parts[1].last_modified.as_ref()),
        ("\"aaaa\"", None)
    );
    let more = ListedPart {
        number: 7,
        etag: "\"p\"".into(),
        size: 9,
        last_modified: None,
        checksum: None,
    };
    let out = rewritten(PARTS, Parts(vec![more.clone()]));
    let again = read_parts(out.as_bytes()).unwrap();
    assert_eq!(again.parts.len(), 3);
    assert_eq!(again.parts[2], more);
    assert_eq!((again.parts[1].etag.as_str(), again.parts[1].size), ("\"3-0\"", 3));
    assert!(out.contains("<Key>kk</Key><UploadId>uu</UploadId>") && !out.contains("CRC32"));
    assert!(out.ends_with("</Part><Owner/></ListPartsResult>"));
    // A list without parts gets them too.
    let empty = rewritten("<ListPartsResult/>", Parts(vec![more]));
    assert_eq!(read_parts(empty.as_bytes()).unwrap().parts.len(), 1);
    for (from, to, error) in [
        ("<Size>10485760</Size>", "", XmlError::Missing("Size")),
        ("<PartNumber>2<", "<PartNumber>0<", XmlError::Invalid("PartNumber")),
        ("<PartNumber>2<", "<PartNumber>10001<", XmlError::Invalid("PartNumber")),
        (
            "<NextPartNumberMarker>3</NextPartNumberMarker>",
            "",
            XmlError::Missing("NextPartNumberMarker"),
        ),
        ("<Size>10485760<", "<Size>-1<", XmlError::Invalid("Size")),
    ] {
        assert_eq!(read_parts(PARTS.replace(from, to).as_bytes()), Err(error));
    }
}

struct Algorithm(AlgorithmChange);

impl Rules for Algorithm {
    fn entry(&mut self, _: &Entry<'_>) -> Change {
        let value = ChecksumValue::from_bytes(ChecksumKind::Crc32c, &[1, 2, 3, 4]).unwrap();
        let checksum = ChecksumChange::Set { value, kind: None, parts: None };
        Change::Set(Replacement { checksum, ..Default::default() })
    }

    fn algorithm(&mut self) -> AlgorithmChange {
        self.0
    }
}

#[test]
fn checksums_of_parts_take_the_place_of_the_servers() {
    let servers = "<ListPartsResult><Key>k</Key><ChecksumAlgorithm>null</ChecksumAlgorithm>\
        <ChecksumType/><Part><PartNumber>1</PartNumber><ETag>a</ETag><Size>1</Size>\
        <ChecksumSHA512>x</ChecksumSHA512></Part></ListPartsResult>";
    let part = "<Part><PartNumber>1</PartNumber><ETag>a</ETag><Size>1</Size>\
        <ChecksumCRC32C>AQIDBA==</ChecksumCRC32C></Part>";
    let without = format!("<ListPartsResult><Key>k</Key>{part}</ListPartsResult>");
    assert_eq!(rewritten(servers, Algorithm(AlgorithmChange::Drop)), without);
    for (checksum_type, written) in
        [(None, ""), (Some(ChecksumType::FullObject), "<ChecksumType>FULL_OBJECT</ChecksumType>")]
    {
        let set = AlgorithmChange::Set(ChecksumKind::Crc32c, checksum_type);
        let name = format!("<ChecksumAlgorithm>CRC32C</ChecksumAlgorithm>{written}");
        let with = without.replace("</ListPartsResult>", &format!("{name}</ListPartsResult>"));
        assert_eq!(rewritten(servers, Algorithm(set)), with);
    }
    let kept = rewritten(servers, Algorithm(AlgorithmChange::Keep));
    assert!(kept.contains("<ChecksumAlgorithm>null</ChecksumAlgorithm><ChecksumType/>"));
}

#[test]
fn answers_to_deletions_are_lists() {
    let xml = "<DeleteResult><Deleted><Key>a</Key><DeleteMarker>true</DeleteMarker></Deleted>\
        <Error><Key>b</Key><Code>AccessDenied</Code><Message>No</Message></Error></DeleteResult>";
    let out = rewritten(xml, |entry: &Entry<'_>| {
        let key = entry.key.as_ref().map(|key| key.to_uppercase());
        Change::Set(Replacement { key, ..Default::default() })
    });
    assert_eq!(out, xml.replace(">a<", ">A<").replace(">b<", ">B<"));
    assert_eq!(rewrite(b"<Tagging/>", |_: &Entry<'_>| Change::Keep), Err(XmlError::UnexpectedRoot));
}
