//! What each property of an envelope costs.

use std::collections::BTreeSet;

use super::super::document::{Document, Table};
use super::super::figures::{Case, Figures, MEMBERS, OURS, is_ours};
use super::super::front::time_text;
use crate::words;

/// Our own forms beside each other: the price of a property is what its form costs more.
pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    let forms: BTreeSet<&str> =
        figures.subjects().into_iter().filter(|subject| is_ours(subject)).collect();
    let case = |name| Case::envelope(name, &[(MEMBERS, 100), ("bytes", 1024)]);
    let (seal, open) = (case("seal"), case("open"));
    if forms.len() < 2 || figures.time(&seal, OURS).is_none() {
        document.paragraph(
            "This run measured one form of endseal; its other forms have no price here.",
        );
        return;
    }
    document.paragraph(
        "Forms of endseal beside its default, at 100 members and 1 KB: the price of a property is \
         the difference between two lines.",
    );
    let mut table = Table::new(
        "",
        &["Form", "seal", "times the default", "bytes a member", "open", "beside the default"],
    );
    for form in forms {
        let time = |case: &Case| figures.time(case, form).map_or("–".into(), time_text);
        let times = match figures.factor(&seal, OURS, form) {
            Some(factor) if form != OURS => figures.factor_words("envelope", factor),
            _ => "–".into(),
        };
        let bytes = figures.bytes_per_member(form).map_or("–".into(), words::bytes);
        let about = figures
            .info_in("envelope", form)
            .map(|info| words::tame(&info.about))
            .unwrap_or_default();
        let difference = match figures.difference(OURS, form) {
            Some(difference) if form != OURS => format!("{about} ({difference})"),
            _ => about,
        };
        table.row(vec![
            form.into(),
            time(&seal),
            times.into(),
            bytes.into(),
            time(&open),
            difference.into(),
        ]);
    }
    document.table(table);
}
