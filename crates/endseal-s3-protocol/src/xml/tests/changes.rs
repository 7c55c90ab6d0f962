use super::super::*;
use super::text;
use crate::checksum::{ChecksumKind, ChecksumType, ChecksumValue};

fn crc() -> ChecksumValue {
    ChecksumValue::from_base64(ChecksumKind::Crc32, "y/Q5Jg==").unwrap()
}

#[test]
fn uploads_get_another_id() {
    let xml = "<?xml version=\"1.0\"?>\n<InitiateMultipartUploadResult xmlns=\"x\"><Bucket>b</Bucket>\
        <Key>k</Key><UploadId>VXBs</UploadId></InitiateMultipartUploadResult>";
    let fields = Fields::read(xml.as_bytes()).unwrap();
    assert_eq!(fields.upload_id.as_deref(), Some("VXBs"));
    assert_eq!(fields.root, "InitiateMultipartUploadResult");
    let change = ResultChange { upload_id: Some("ours".into()), ..Default::default() };
    let out = text(rewrite_result(xml.as_bytes(), &change).unwrap());
    assert_eq!(out, xml.replace("VXBs", "ours"));
}

#[test]
fn completed_uploads_get_their_checksum() {
    let xml = "<CompleteMultipartUploadResult><Location>http://x/b/k</Location><Bucket>b</Bucket>\
        <Key>k</Key><ETag>\"3858-9\"</ETag><ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME>\
        <ChecksumType>FULL_OBJECT</ChecksumType><More/></CompleteMultipartUploadResult>";
    let checksum =
        ChecksumChange::Set { value: crc(), kind: Some(ChecksumType::Composite), parts: Some(2) };
    let change = ResultChange {
        location: Some("http://y/b/k?a&b".into()),
        etag: Some("\"new\"".into()),
        checksum,
        ..Default::default()
    };
    assert_eq!(
        text(rewrite_result(xml.as_bytes(), &change).unwrap()),
        "<CompleteMultipartUploadResult><Location>http://y/b/k?a&amp;b</Location><Bucket>b</Bucket>\
         <Key>k</Key><ETag>&quot;new&quot;</ETag><More/><ChecksumCRC32>y/Q5Jg==-2</ChecksumCRC32>\
         <ChecksumType>COMPOSITE</ChecksumType></CompleteMultipartUploadResult>"
    );
    let same = rewrite_result(xml.as_bytes(), &ResultChange::default());
    assert_eq!(text(same.unwrap()), xml);
}

#[test]
fn copies_are_read_and_changed() {
    let xml = "<CopyObjectResult><LastModified>2009-10-28T22:32:00</LastModified>\
        <ETag>\"9b2cf535f27731c974343645a3985328\"</ETag></CopyObjectResult>";
    let fields = Fields::read(xml.as_bytes()).unwrap();
    assert_eq!(fields.etag.as_deref(), Some("\"9b2cf535f27731c974343645a3985328\""));
    assert_eq!(fields.last_modified.as_deref(), Some("2009-10-28T22:32:00"));
    let change = ResultChange { etag: Some("\"a-0\"".into()), ..Default::default() };
    let out = rewrite_result(xml.as_bytes(), &change).unwrap();
    assert_eq!(Fields::read(&out).unwrap().etag.as_deref(), Some("\"a-0\""));
}

/// S3 may answer a completion with status 200 and an error.
#[test]
fn errors_are_told_from_results() {
    let more = [("BucketName", "b<")];
    let xml = ErrorDocument {
        code: "NoSuchKey",
        message: "It's \"gone\" & away\u{1}",
        resource: "/b/k",
        request_id: "7",
        more: &more,
    }
    .to_xml();
    assert_eq!(root_name(&xml).as_deref(), Ok("Error"));
    let fields = Fields::read(&xml).unwrap();
    assert_eq!(fields.code.as_deref(), Some("NoSuchKey"));
    assert_eq!(fields.message.as_deref(), Some("It's \"gone\" & away\u{1}"));
    let change = ResultChange { resource: Some("/b/other".into()), ..Default::default() };
    let out = text(rewrite_result(&xml, &change).unwrap());
    assert!(out.contains("<Resource>/b/other</Resource>") && out.contains("<BucketName>b&lt;<"));
    assert_eq!(Fields::read(b"<html><body/></html>").unwrap().etag, None);
}

const ATTRIBUTES: &str = "<GetObjectAttributesResponse><ETag>9b2c-2</ETag>\
    <Checksum><ChecksumSHA256>x</ChecksumSHA256></Checksum>\
    <ObjectParts><PartsCount>3</PartsCount></ObjectParts><StorageClass>STANDARD</StorageClass>\
    <ObjectSize>1024</ObjectSize><New>1</New></GetObjectAttributesResponse>";

#[test]
fn attributes_are_changed() {
    for root in
        ["GetObjectAttributesResponse", "GetObjectAttributesOutput", "getObjectAttributesResponse"]
    {
        let xml = ATTRIBUTES.replace("GetObjectAttributesResponse", root);
        let same = rewrite_attributes(xml.as_bytes(), &AttributesChange::default()).unwrap();
        assert_eq!(text(same), xml);
    }
    let part = PartAttributes { number: 4, size: 900, checksum: Some(crc()) };
    let change = AttributesChange {
        etag: Some("9b2c-0".into()),
        size: Some(900),
        checksum: ChecksumChange::Set { value: crc(), kind: None, parts: None },
        parts: PartsAttributes::Set {
            total: 1,
            marker: 0,
            max: 1_000,
            parts: vec![part],
            truncated: false,
        },
    };
    assert_eq!(
        text(rewrite_attributes(ATTRIBUTES.as_bytes(), &change).unwrap()),
        "<GetObjectAttributesResponse><ETag>9b2c-0</ETag><StorageClass>STANDARD</StorageClass>\
         <ObjectSize>900</ObjectSize><New>1</New><Checksum><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32>\
         </Checksum><ObjectParts><IsTruncated>false</IsTruncated><MaxParts>1000</MaxParts>\
         <NextPartNumberMarker>4</NextPartNumberMarker><PartNumberMarker>0</PartNumberMarker>\
         <Part><PartNumber>4</PartNumber><Size>900</Size><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32>\
         </Part><PartsCount>1</PartsCount></ObjectParts></GetObjectAttributesResponse>"
    );
    let change = AttributesChange {
        checksum: ChecksumChange::Drop,
        parts: PartsAttributes::Drop,
        ..Default::default()
    };
    let out = text(rewrite_attributes(ATTRIBUTES.as_bytes(), &change).unwrap());
    assert!(!out.contains("Checksum") && !out.contains("ObjectParts") && out.contains("<New>"));
    assert_eq!(rewrite_attributes(b"<a/>", &change), Err(XmlError::UnexpectedRoot));
}

#[test]
fn documents_of_our_own_are_closed() {
    let mut builder = Builder::new("CopyPartResult");
    builder.open("a").leaf("b", "<\r\n>");
    assert_eq!(
        text(builder.finish()),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CopyPartResult \
         xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><a><b>&lt;&#xD;&#xA;&gt;</b></a></CopyPartResult>"
    );
}
