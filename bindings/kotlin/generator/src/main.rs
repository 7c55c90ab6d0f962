//! Writes the source of a built library: `generate kotlin|swift LIBRARY FOLDER`.
#![forbid(unsafe_code)]

mod kotlin;

use std::fs;
use std::path::Path;

use uniffi_bindgen::bindings::{GenerateOptions, TargetLanguage, generate};

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [language, library, folder] = &arguments[..] else {
        panic!("generate kotlin|swift LIBRARY FOLDER")
    };
    let target = match language.as_str() {
        "kotlin" => TargetLanguage::Kotlin,
        "swift" => TargetLanguage::Swift,
        other => panic!("{other} is neither kotlin nor swift"),
    };
    let options = GenerateOptions {
        languages: vec![target],
        source: library.into(),
        out_dir: folder.into(),
        config_override: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../uniffi.toml").into()),
        ..GenerateOptions::default()
    };
    generate(options)
        .expect("the library has no metadata of UniFFI, or the folder is not writable");
    if language == "kotlin" {
        let file = Path::new(folder).join("endseal/endseal.kt");
        let source = fs::read_to_string(&file).expect("UniFFI has written no Kotlin source");
        let repaired = kotlin::repair(&source).expect("UniFFI has written other Kotlin source");
        fs::write(&file, repaired).expect("the folder is not writable");
    }
}
