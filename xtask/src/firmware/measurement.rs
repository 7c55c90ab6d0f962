//! Measurements in both forms: one line of JSON each as the firmware prints them, and one row of
//! tab-separated values each as they are committed.

pub(super) const HEAD: &str = "isa\top\tbytes\tinstructions\tstack\timage";

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurement {
    pub(super) isa: String,
    pub(super) op: String,
    /// Bytes of the message, or of the result.
    pub(super) bytes: u64,
    pub(super) instructions: u64,
    /// Bytes of stack that the operation used.
    pub(super) stack: u64,
    /// Bytes of code and constants of the whole firmware.
    pub(super) image: u64,
}

impl Measurement {
    pub(super) fn to_row(&self) -> String {
        let Self { isa, op, bytes, instructions, stack, image } = self;
        format!("{isa}\t{op}\t{bytes}\t{instructions}\t{stack}\t{image}\n")
    }

    fn from_row(row: &str) -> Result<Self, String> {
        let fault = || format!("no measurement: {row}");
        let words: [&str; 6] =
            row.split('\t').collect::<Vec<_>>().try_into().map_err(|_| fault())?;
        let [isa, op, numbers @ ..] = words;
        let mut values = [0; 4];
        for (value, number) in values.iter_mut().zip(numbers) {
            *value = number.parse().map_err(|_| fault())?;
        }
        let [bytes, instructions, stack, image] = values;
        Ok(Self { isa: isa.to_owned(), op: op.to_owned(), bytes, instructions, stack, image })
    }

    /// Parses a line of the firmware, which has no blanks and no escapes in its strings.
    fn from_json(line: &str) -> Option<Self> {
        let value = |name: &str| {
            let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
            Some(rest.split([',', '}']).next()?.trim_matches('"'))
        };
        let number = |name: &str| value(name)?.parse().ok();
        Some(Self {
            isa: value("isa")?.to_owned(),
            op: value("op")?.to_owned(),
            bytes: number("bytes")?,
            instructions: number("instructions")?,
            stack: number("stack")?,
            image: number("image")?,
        })
    }
}

/// Parses the lines of JSON within other output.
pub(super) fn parse_lines(output: &str) -> Result<Vec<Measurement>, String> {
    let lines = output.lines().map(str::trim_end).filter(|line| line.starts_with('{'));
    lines
        .map(|line| Measurement::from_json(line).ok_or_else(|| format!("no measurement: {line}")))
        .collect()
}

/// Parses the committed table.
pub(super) fn parse_table(text: &str) -> Result<Vec<Measurement>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("it does not begin with: {HEAD}"));
    }
    lines.map(Measurement::from_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"{"isa":"rv32imc","op":"sign","bytes":32,"instructions":9,"stack":8,"image":7}"#;

    #[test]
    fn a_line_becomes_a_row_and_a_row_a_measurement() {
        let found = parse_lines(&format!("=== A TABLE ===\n{LINE}\r\nend\n")).unwrap();
        let [sign] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(sign.to_row(), "rv32imc\tsign\t32\t9\t8\t7\n");
        let table = format!("{HEAD}\n{}", sign.to_row());
        assert_eq!(parse_table(&table), Ok(found));
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        for wrong in [&LINE.replace("stack", "heap"), &LINE.replace(":9", ":many"), "{}"] {
            assert!(parse_lines(wrong).is_err(), "{wrong}");
        }
        assert!(parse_table("isa\top\n").is_err());
        for wrong in ["a\tb\t1\t2\t3", "a\tb\t1\t2\t3\tx", "a\tb\t1\t2\t3\t4\t5"] {
            assert!(parse_table(&format!("{HEAD}\n{wrong}\n")).is_err(), "{wrong}");
        }
    }
}
