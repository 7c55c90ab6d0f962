//! Repairs of the Kotlin source that UniFFI 0.32 writes. Each fails if it finds another source.

/// Call that passes an object to the library. It reads the handle even if the object was closed.
const UNCOUNTED: &str = "return value.uniffiCloneHandle()";
/// The same as a counted call, as methods have it: no other thread frees the object meanwhile, and
/// one that is closed is refused.
const COUNTED: &str = "return value.callWithHandle { it }";
/// Definition of which every class of objects of the library has one.
const OBJECT: &str = "internal inline fun <R> callWithHandle(";

/// Call of the library, in which arguments are converted.
const CALL: &str = "    val return_value = callback(status)\n";
/// The same, with an error of the call if a text cannot be UTF-8.
const CHECKED_CALL: &str = "    val return_value = try {
        callback(status)
    } catch (_: java.nio.charset.CharacterCodingException) {
        throw refusedText(errorHandler)
    }
";

/// Fields of data classes that `toString` must not show.
const HIDDEN: [&str; 2] = ["content", "plaintext"];

/// Returns the source with all repairs.
pub(crate) fn repair(source: &str) -> Result<String, String> {
    let objects = source.matches(OBJECT).count();
    let source = replace(source, UNCOUNTED, COUNTED, objects)?;
    let source = replace(&source, CALL, CHECKED_CALL, 1)?;
    hide_contents(&source)
}

/// Replaces a text that must be in the source as often as is said, and at least once.
fn replace(source: &str, text: &str, by: &str, times: usize) -> Result<String, String> {
    match source.matches(text).count() {
        found if found == times && found > 0 => Ok(source.replace(text, by)),
        found => Err(format!("`{}` is there {found} times, not {times}", text.trim())),
    }
}

/// Adds a `toString` with the length of contents to the data classes that have some.
fn hide_contents(source: &str) -> Result<String, String> {
    let mut result = String::with_capacity(source.len());
    let mut hidden = Vec::new();
    let mut class: Option<(&str, Vec<String>, bool)> = None;
    for line in source.lines() {
        result.push_str(line);
        result.push('\n');
        if let Some(name) = line.strip_prefix("data class ") {
            class = Some((name.trim_end_matches(" ("), Vec::new(), false));
        }
        let Some((name, fields, hides)) = &mut class else { continue };
        if let Some(field) = line.strip_prefix("    var `") {
            let (field, kind) = field
                .split_once("`: ")
                .ok_or_else(|| format!("a field of {name} has no type: {line}"))?;
            let value = match kind.trim() {
                "kotlin.ByteArray" if HIDDEN.contains(&field) => {
                    *hides = true;
                    hidden.push(field.to_owned());
                    format!("${{`{field}`.size}} bytes")
                }
                other if HIDDEN.contains(&field) => {
                    return Err(format!("{name}.{field} has the type {other}"));
                }
                "kotlin.ByteArray" => format!("${{`{field}`.contentToString()}}"),
                _ => format!("${{`{field}`}}"),
            };
            fields.push(format!("{field}={value}"));
        } else if line.starts_with(')') {
            if *hides {
                let fields = fields.join(", ");
                let text = format!("    override fun toString(): String = \"{name}({fields})\"\n");
                result.push_str(&text);
            }
            class = None;
        }
    }
    match HIDDEN.iter().find(|field| !hidden.iter().any(|it| it == *field)) {
        None => Ok(result),
        Some(field) => Err(format!("no data class has the field `{field}`")),
    }
}
