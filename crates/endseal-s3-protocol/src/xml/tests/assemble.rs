use super::text;
use crate::xml::{EntryKind, Leaf, ListPage, Replacement, XmlError, assemble, common_prefix};

const PAGE: &str = "<?xml version=\"1.0\"?>\n<s:ListVersionsResult xmlns:s=\"http://s3/\">\
<s:Name>b</s:Name><s:EncodingType>url</s:EncodingType><s:IsTruncated>true</s:IsTruncated>\
<s:NextKeyMarker>a%2Fb</s:NextKeyMarker><s:NextVersionIdMarker>2</s:NextVersionIdMarker>\
<s:Version><s:Key>a%2Fb</s:Key><s:VersionId>1</s:VersionId><s:Size>40</s:Size>\
<s:Owner><s:ID>me &amp; you</s:ID></s:Owner></s:Version>\
<s:DeleteMarker><s:Key>a+c</s:Key><s:VersionId>2</s:VersionId></s:DeleteMarker>\
<s:CommonPrefixes><s:Prefix>x%20/</s:Prefix><s:Prefix>y/</s:Prefix></s:CommonPrefixes>\
</s:ListVersionsResult>";

#[test]
fn the_entries_of_a_page_come_one_by_one() {
    let page = ListPage::read(PAGE.as_bytes()).unwrap();
    let seen: Vec<_> =
        page.entries.iter().map(|it| (it.kind, it.key.as_str(), it.id.as_deref())).collect();
    assert_eq!(
        seen,
        [
            (EntryKind::Version, "a/b", Some("1")),
            (EntryKind::DeleteMarker, "a c", Some("2")),
            (EntryKind::CommonPrefix, "x /", None),
            (EntryKind::CommonPrefix, "y/", None),
        ]
    );
    assert!(page.head.is_truncated);
    assert_eq!(
        (page.head.next_key.as_deref(), page.head.next_id.as_deref()),
        (Some("a/b"), Some("2"))
    );
    assert_eq!(ListPage::read(b"<Error/>"), Err(XmlError::UnexpectedRoot));
}

#[test]
fn a_list_is_assembled_with_the_servers_root() {
    let page = ListPage::read(PAGE.as_bytes()).unwrap();
    let change = |size| Replacement { size, ..Replacement::default() };
    let version = &page.entries[0];
    let entry = version.rewritten("name & co", false, |entry| change(entry.size.map(|it| it - 1)));
    let expected = "<s:Version><s:Key>name &amp; co</s:Key><s:VersionId>1</s:VersionId>\
        <s:Size>39</s:Size><s:Owner><s:ID>me &amp; you</s:ID></s:Owner></s:Version>";
    assert_eq!(entry.as_deref(), Ok(expected));
    assert_eq!(version.text_len(), expected.len() - "name &amp; co".len() + "a%2Fb".len());
    let leaves = [("Name", "b c", false), ("Prefix", "b c", true)]
        .map(|(name, text, is_key)| Leaf { name, text: text.to_owned(), is_key });
    for (url, prefix) in [(false, "b c"), (true, "b%20c")] {
        let entries = [entry.clone().unwrap(), common_prefix("b c", url)];
        let list = text(assemble(PAGE.as_bytes(), &leaves, &entries, url).unwrap());
        let begin = "<?xml version=\"1.0\"?>\n<s:ListVersionsResult xmlns:s=\"http://s3/\">";
        let outside = format!("<Name>b c</Name><Prefix>{prefix}</Prefix>");
        let folder = format!("<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>");
        assert_eq!(list, format!("{begin}{outside}{expected}{folder}</s:ListVersionsResult>"));
    }
    let encoded = version.rewritten("n/a b", true, |_| change(None)).unwrap();
    assert!(encoded.contains("<s:Key>n/a%20b</s:Key>"), "{encoded}");
    let empty = assemble(b"<ListBucketResult x=\"/\"/>", &leaves[..1], &[], false).unwrap();
    assert_eq!(text(empty), "<ListBucketResult x=\"/\"><Name>b c</Name></ListBucketResult>");
}
