use super::super::*;
use super::text;
use crate::checksum::{ChecksumKind, ChecksumValue};

const COMPLETE: &str = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n\
    <Part>\n<PartNumber> 1 </PartNumber><ETag>&quot;a54357aff0632cce46d942af68356b38&quot;</ETag></Part>\
    <Part><ETag>0c78aef83f66abc1fa1e8477f296d394-01</ETag><PartNumber>10000</PartNumber>\
    <ChecksumCRC32C>sOO8/Q==</ChecksumCRC32C><Unknown/></Part></CompleteMultipartUpload>";

#[test]
fn the_clients_list_of_parts_is_read_and_written() {
    let parts = read_complete(COMPLETE.as_bytes()).unwrap();
    let checksum = ChecksumValue::from_base64(ChecksumKind::Crc32c, "sOO8/Q==");
    assert_eq!(
        parts,
        [
            CompletedPart {
                number: 1,
                etag: "\"a54357aff0632cce46d942af68356b38\"".into(),
                checksum: None
            },
            CompletedPart {
                number: 10_000,
                etag: "0c78aef83f66abc1fa1e8477f296d394-01".into(),
                checksum
            },
        ]
    );
    assert_eq!(read_complete(&write_complete(&parts)), Ok(parts));
}

#[test]
fn lists_of_parts_have_their_limits() {
    let part = |number: usize| CompletedPart {
        number: u16::try_from(number).unwrap(),
        etag: "e".repeat(100),
        checksum: ChecksumValue::from_bytes(ChecksumKind::Sha256, &[7; 32]),
    };
    let all: Vec<_> = (1..=10_000).map(part).collect();
    let xml = write_complete(&all);
    assert_eq!(read_complete(&xml).unwrap().len(), 10_000);
    let xml =
        text(xml).replacen("<Part>", "<Part><PartNumber>1</PartNumber><ETag/></Part><Part>", 1);
    assert_eq!(read_complete(xml.as_bytes()), Err(XmlError::TooMany));
    for (from, to, error) in [
        ("<PartNumber>10000</PartNumber>", "", XmlError::Missing("PartNumber")),
        (">10000<", ">10001<", XmlError::Invalid("PartNumber")),
        (">10000<", ">0<", XmlError::Invalid("PartNumber")),
        (">10000<", ">1e3<", XmlError::Invalid("PartNumber")),
        (">10000<", "><", XmlError::Invalid("PartNumber")),
        (">10000<", "><b/>1<", XmlError::Invalid("PartNumber")),
        ("<ETag>0c78aef83f66abc1fa1e8477f296d394-01</ETag>", "", XmlError::Missing("ETag")),
        ("sOO8/Q==", "sOO8", XmlError::Invalid("ChecksumCRC32C")),
        ("<Unknown/>", "<ChecksumSHA1>x</ChecksumSHA1>", XmlError::Invalid("ChecksumSHA1")),
        (
            "<Unknown/>",
            "<ChecksumCRC32>AAAAAA==</ChecksumCRC32>",
            XmlError::Invalid("ChecksumCRC32"),
        ),
    ] {
        let xml = COMPLETE.replace(from, to);
        assert_ne!(xml, COMPLETE, "{from}");
        assert_eq!(read_complete(xml.as_bytes()), Err(error), "{to}");
    }
    assert_eq!(read_complete(b"<CompleteMultipartUpload/>"), Err(XmlError::Missing("Part")));
    assert_eq!(read_complete(b"<Delete/>"), Err(XmlError::UnexpectedRoot));
}

const DELETE: &str = "<?xml version='1.0'?><s3:Delete xmlns:s3=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
    <s3:Quiet>true</s3:Quiet><s3:Object><s3:Key>sample&amp;1.txt</s3:Key></s3:Object>\
    <s3:Object><s3:Key> b </s3:Key><s3:VersionId>v</s3:VersionId><s3:ETag>\"e\"</s3:ETag>\
    <s3:Size>8</s3:Size><s3:LastModifiedTime>x</s3:LastModifiedTime></s3:Object></s3:Delete>";

#[test]
fn deletions_are_read_and_changed() {
    let request = read_delete(DELETE.as_bytes()).unwrap();
    assert!(request.quiet);
    assert_eq!(request.objects[0].key, "sample&1.txt");
    let second = &request.objects[1];
    assert_eq!((second.key.as_str(), second.version_id.as_deref()), (" b ", Some("v")));
    assert_eq!((second.etag.as_deref(), second.size), (Some("\"e\""), Some(8)));
    let out = rewrite(DELETE.as_bytes(), |entry: &Entry<'_>| {
        assert_eq!(entry.kind, EntryKind::Delete);
        if entry.size.is_none() {
            return Change::Drop;
        }
        Change::Set(Replacement {
            etag: Some("\"f\"".into()),
            size: Some(116),
            ..Default::default()
        })
    });
    let out = text(out.unwrap());
    assert!(out.contains("<s3:ETag>&quot;f&quot;</s3:ETag><s3:Size>116</s3:Size>"));
    assert_eq!(read_delete(out.as_bytes()).unwrap().objects.len(), 1);
}

#[test]
fn deletions_have_their_limits() {
    let many = |count: usize| {
        let object = format!("<Object><Key>{}</Key></Object>", "&quot;".repeat(1_000));
        format!("<Delete>{}</Delete>", object.repeat(count))
    };
    assert_eq!(read_delete(many(1_000).as_bytes()).unwrap().objects.len(), 1_000);
    assert_eq!(read_delete(many(1_001).as_bytes()), Err(XmlError::TooMany));
    assert_eq!(read_delete(many(2_000).as_bytes()), Err(XmlError::TooLong));
    for (xml, error) in [
        ("<Delete/>", XmlError::Missing("Object")),
        ("<Delete><Object/></Delete>", XmlError::Missing("Key")),
        ("<Delete><Object><Key/></Object></Delete>", XmlError::Missing("Key")),
        (
            "<Delete><Quiet>1</Quiet><Object><Key>a</Key></Object></Delete>",
            XmlError::Invalid("Quiet"),
        ),
        ("<Error/>", XmlError::UnexpectedRoot),
    ] {
        assert_eq!(read_delete(xml.as_bytes()), Err(error));
    }
}
