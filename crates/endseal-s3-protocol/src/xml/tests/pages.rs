use crate::xml::{
    Next, XmlError, entries, read_buckets, read_objects, read_parts, read_uploads, read_versioning,
    read_versions,
};

#[test]
fn pages_of_objects_are_decoded_and_say_where_they_go_on() {
    let page = |more: &str| {
        format!(
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>{more}\
             <Contents><Key>a%20b%2Fc+d</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified>\
             <ETag>&quot;x&quot;</ETag><Size>3</Size></Contents></ListBucketResult>"
        )
    };
    let encoded = "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
                   <NextContinuationToken>t+/=</NextContinuationToken>";
    let read = read_objects(page(encoded).as_bytes()).unwrap();
    assert_eq!(read.entries[0].key, "a b/c d");
    assert_eq!(read.entries[0].time.as_deref(), Some("2026-01-02T03:04:05.678Z"));
    // A token is no key: it goes back as it came.
    assert_eq!(read.next, Some(Next { marker: "t+/=".to_owned(), id: None }));
    let plain = read_objects(page("<IsTruncated>false</IsTruncated>").as_bytes()).unwrap();
    assert_eq!((plain.entries[0].key.as_str(), plain.next), ("a%20b%2Fc+d", None));
    let endless = read_objects(page("<IsTruncated>true</IsTruncated>").as_bytes());
    assert_eq!(endless, Err(XmlError::Missing("NextContinuationToken")));
}

#[test]
fn pages_of_uploads_and_versions_go_on_at_a_key_and_an_id() {
    let uploads = b"<ListMultipartUploadsResult><EncodingType>url</EncodingType>\
        <NextKeyMarker>k%2F1</NextKeyMarker><NextUploadIdMarker>u1</NextUploadIdMarker>\
        <IsTruncated>true</IsTruncated><Upload><Key>k%2F1</Key><UploadId>u1</UploadId>\
        <Initiated>2026-01-02T03:04:05Z</Initiated></Upload></ListMultipartUploadsResult>";
    let read = read_uploads(uploads).unwrap();
    assert_eq!((read.entries[0].key.as_str(), read.entries[0].id.as_deref()), ("k/1", Some("u1")));
    assert_eq!(read.next, Some(Next { marker: "k/1".into(), id: Some("u1".into()) }));
    let versions = b"<ListVersionsResult><IsTruncated>false</IsTruncated>\
        <DeleteMarker><Key>k</Key><VersionId>2</VersionId></DeleteMarker>\
        <Version><Key>k</Key><VersionId>1</VersionId></Version></ListVersionsResult>";
    let read = read_versions(versions).unwrap();
    let seen: Vec<_> = read.entries.iter().map(|it| (it.id.as_deref(), it.is_marker)).collect();
    assert_eq!(seen, [(Some("2"), true), (Some("1"), false)]);
    let nameless = b"<ListMultipartUploadsResult><Upload><Key>k</Key></Upload>\
        </ListMultipartUploadsResult>";
    assert_eq!(read_uploads(nameless), Err(XmlError::Missing("UploadId")));
    assert_eq!(read_objects(uploads), Err(XmlError::UnexpectedRoot));
}

#[test]
fn buckets_and_their_versioning_are_read() {
    let buckets = b"<ListAllMyBucketsResult><Owner><ID>o</ID></Owner><Buckets>\
        <Bucket><Name>one</Name></Bucket><Bucket><Name>two</Name></Bucket></Buckets>\
        <ContinuationToken>t</ContinuationToken></ListAllMyBucketsResult>";
    let read = read_buckets(buckets).unwrap();
    assert_eq!(
        (read.entries, read.next.unwrap().marker),
        (vec!["one".into(), "two".into()], "t".into())
    );
    assert_eq!(read_buckets(b"<ListAllMyBucketsResult/>").unwrap().entries, Vec::<String>::new());
    for (status, has_versions) in
        [("<Status>Enabled</Status>", true), ("<Status>Suspended</Status>", true), ("", false)]
    {
        let text = format!("<VersioningConfiguration>{status}</VersioningConfiguration>");
        assert_eq!(read_versioning(text.as_bytes()), Ok(has_versions));
    }
}

/// moto and rclone name root elements otherwise, and so do documents that are no list.
#[test]
fn lists_are_recognised_by_their_elements() {
    let parts = b"<ListPartsResponse><IsTruncated>false</IsTruncated><Part>\
        <PartNumber>1</PartNumber><ETag>t</ETag><Size>7</Size></Part></ListPartsResponse>";
    assert_eq!(read_parts(parts).unwrap().parts.len(), 1);
    let objects = b"<Objects><IsTruncated>false</IsTruncated>\
        <Contents><Key>k</Key></Contents></Objects>";
    assert_eq!(read_objects(objects).unwrap().entries.len(), 1);
    let mut keys = Vec::new();
    entries(objects, |entry| keys.extend(entry.key.as_deref().map(str::to_owned))).unwrap();
    assert_eq!(keys, ["k"]);
    assert_eq!(read_buckets(b"<Any><Buckets/></Any>").unwrap().entries, Vec::<String>::new());
    let page = b"<html><body><p>Welcome</p></body></html>";
    assert_eq!(read_parts(page), Err(XmlError::UnexpectedRoot));
    assert_eq!(read_objects(page), Err(XmlError::UnexpectedRoot));
    assert_eq!(read_versions(page), Err(XmlError::UnexpectedRoot));
    assert_eq!(read_uploads(page), Err(XmlError::UnexpectedRoot));
    assert_eq!(read_buckets(page), Err(XmlError::UnexpectedRoot));
    assert_eq!(entries(page, |_| {}), Err(XmlError::UnexpectedRoot));
}
