//! QR codes for a terminal.

use endseal_crypto::secret::Zeroizing;
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// White on black, so that light modules are light on every terminal.
const BEGIN: &str = "\u{1b}[97;40m";
const END: &str = "\u{1b}[0m";

/// Draws the QR code of a text with its margin, two rows of modules on each line. Returns `None` if
/// the text is too long. Without colours the code is readable only on a dark background.
pub(crate) fn text(content: &str, is_coloured: bool) -> Option<Zeroizing<String>> {
    let code = QrCode::with_error_correction_level(content, EcLevel::L).ok()?;
    let mut renderer = code.render::<Dense1x2>();
    // The renderer draws the dark pixels.
    renderer.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark);
    let drawn = Zeroizing::new(renderer.build());
    let (begin, end) = if is_coloured { (BEGIN, END) } else { ("", "") };
    let mut text = Zeroizing::new(String::with_capacity(2 * drawn.len()));
    for line in drawn.lines() {
        for part in [begin, line, end, "\n"] {
            text.push_str(part);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use qrcode::Color;

    use super::*;

    #[test]
    fn a_code_has_every_module_and_a_margin() {
        let content = "bunker://79be667ef9dcbbac?relay=wss%3A%2F%2Frelay.example&secret=0123";
        let drawn = text(content, false).unwrap();
        let code = QrCode::with_error_correction_level(content, EcLevel::L).unwrap();
        let (width, margin) = (code.width(), 4);
        let rows: Vec<Vec<bool>> = drawn
            .lines()
            .flat_map(|line| {
                let halves =
                    |upper| line.chars().map(move |c| c == '\u{2588}' || c == upper).collect();
                [halves('\u{2580}'), halves('\u{2584}')]
            })
            .collect();
        assert!(rows.len() >= width + 2 * margin);
        for (y, row) in rows.iter().enumerate().take(width + 2 * margin) {
            assert_eq!(row.len(), width + 2 * margin);
            for (x, is_light) in row.iter().enumerate() {
                let inside = |at: usize| at.checked_sub(margin).filter(|at| *at < width);
                let is_dark = inside(x).zip(inside(y)).is_some_and(|at| code[at] == Color::Dark);
                assert_eq!(*is_light, !is_dark, "{x} {y}");
            }
        }
        let coloured = text(content, true).unwrap();
        assert!(coloured.lines().all(|line| line.starts_with(BEGIN) && line.ends_with(END)));
    }

    #[test]
    fn a_text_that_is_too_long_has_no_code() {
        assert!(text(&"x".repeat(3_000), false).is_none());
    }
}
