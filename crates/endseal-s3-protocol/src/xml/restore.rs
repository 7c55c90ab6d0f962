//! `RestoreRequest`: an object that lies in an archive.

use super::XmlError;
use super::tree::Tree;

/// Returns true if the request is one for the results of a query, written to some bucket.
///
/// # Errors
/// [`XmlError`]: another document.
pub fn selects(xml: &[u8]) -> Result<bool, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.expect_root("RestoreRequest")?;
    let queries = ["Type", "SelectParameters", "OutputLocation"];
    Ok(root.children().any(|child| queries.contains(&child.name())))
}

#[cfg(test)]
mod tests {
    use super::selects;

    #[test]
    fn queries_are_told_from_restorations() {
        let restore = |inner: &str| {
            let ns = "http://s3.amazonaws.com/doc/2006-03-01/";
            format!("<RestoreRequest xmlns=\"{ns}\">{inner}</RestoreRequest>")
        };
        for (inner, expected) in [
            ("", false),
            ("<Days>3</Days><GlacierJobParameters><Tier>Bulk</Tier></GlacierJobParameters>", false),
            ("<Type>SELECT</Type>", true),
            ("<Days>3</Days><SelectParameters/>", true),
            ("<OutputLocation><S3><BucketName>b</BucketName></S3></OutputLocation>", true),
            ("<x:Type xmlns:x=\"y\">SELECT</x:Type>", true),
        ] {
            assert_eq!(selects(restore(inner).as_bytes()).unwrap(), expected, "{inner}");
        }
        assert!(selects(b"<Restore/>").is_err());
        assert!(selects(b"<RestoreRequest><Type>").is_err());
    }
}
