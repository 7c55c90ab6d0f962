//! Names of objects in crypt remotes of rclone.

use endseal_crypto::aes_eme;
use endseal_crypto::secret::Zeroizing;

use super::rclone_encodings::NameEncoding;
use super::rclone_version;

/// Mark before a character that obfuscation left as it was, and before a name that it did.
const QUOTE: char = '!';

/// Greatest length of an encrypted name in bytes.
const MAX_NAME: usize = aes_eme::MAX_BLOCKS * aes_eme::BLOCK_LEN;

/// Way of hiding names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameMode {
    /// Each name of a path is encrypted with AES-EME.
    Standard,
    /// The characters of each name are rotated.
    Obfuscate,
    /// Names are as they are, with this suffix behind those of files.
    Off(String),
}

/// Keys of names, and how they are hidden.
pub(super) struct RcloneNames {
    pub(super) mode: NameMode,
    pub(super) encoding: NameEncoding,
    /// True if names of folders are hidden, too.
    pub(super) has_named_folders: bool,
    pub(super) name_key: Zeroizing<[u8; 32]>,
    pub(super) tweak: Zeroizing<[u8; 16]>,
}

impl RcloneNames {
    /// Returns the path of a file. `None` if it is none that rclone wrote with these keys.
    pub(super) fn open_file(&self, path: &str) -> Option<String> {
        if let NameMode::Off(suffix) = &self.mode {
            let name = path.strip_suffix(suffix.as_str())?;
            return Some(name.to_owned()).filter(|name| !name.is_empty());
        }
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let file = match rclone_version::remove(file) {
            Some((file, time)) => rclone_version::add(&self.open_name(&file)?, time),
            None => self.open_name(file)?,
        };
        match folder {
            "" => Some(file),
            folder => Some(format!("{}/{file}", self.open_folder(folder)?)),
        }
    }

    /// Returns the path of a folder.
    pub(super) fn open_folder(&self, path: &str) -> Option<String> {
        if matches!(self.mode, NameMode::Off(_)) || !self.has_named_folders {
            return Some(path.to_owned());
        }
        let names: Option<Vec<String>> = path.split('/').map(|name| self.open_name(name)).collect();
        Some(names?.join("/"))
    }

    fn open_name(&self, name: &str) -> Option<String> {
        let opened = match self.mode {
            NameMode::Standard => self.decrypted(name)?,
            NameMode::Obfuscate => self.deobfuscated(name)?,
            NameMode::Off(_) => name.to_owned(),
        };
        // No part of a path is empty or has a slash, and no other one was encrypted.
        Some(opened).filter(|name| !name.is_empty() && !name.contains(['/', '\0']))
    }

    fn decrypted(&self, name: &str) -> Option<String> {
        let mut bytes = self.encoding.decode(name).filter(|bytes| bytes.len() <= MAX_NAME)?;
        aes_eme::decrypt(&self.name_key, &self.tweak, &mut bytes)?;
        // PKCS #7: nothing else shows that the name is of this key.
        let padding = *bytes.last()?;
        let len = bytes.len().checked_sub(padding.into())?;
        let is_padded =
            (1..=16).contains(&padding) && bytes.get(len..)?.iter().all(|byte| *byte == padding);
        if !is_padded {
            return None;
        }
        bytes.truncate(len);
        String::from_utf8(bytes).ok()
    }

    fn deobfuscated(&self, name: &str) -> Option<String> {
        let (number, rest) = name.split_once('.')?;
        if number == "!" {
            return Some(rest.to_owned());
        }
        if number.is_empty() || number.len() > 3 || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let own: u32 = self.name_key.iter().map(|byte| u32::from(*byte)).sum();
        let distance = number.parse::<u32>().ok()? + own;
        let mut opened = String::with_capacity(rest.len());
        let mut characters = rest.chars();
        while let Some(character) = characters.next() {
            opened.push(match character {
                QUOTE => characters.next()?,
                character => rotated_back(character, distance)?,
            });
        }
        Some(opened)
    }
}

/// Returns the character that rotation by `distance` made into another one.
fn rotated_back(character: char, distance: u32) -> Option<char> {
    let code = u32::from(character);
    let back = |first: u32, count: u32, by: u32| first + (code - first + count - by) % count;
    Some(match character {
        '0'..='9' => char::from_u32(back(u32::from('0'), 10, distance % 9 + 1))?,
        'A'..='Z' | 'a'..='z' => {
            let position = match character {
                'A'..='Z' => code - u32::from('A'),
                _ => code - u32::from('a') + 26,
            };
            let position = (position + 52 - (distance % 25 + 1)) % 52;
            let first = if position < 26 { u32::from('A') } else { u32::from('a') - 26 };
            char::from_u32(first + position)?
        }
        '\u{a0}'..='\u{ff}' => char::from_u32(back(0xa0, 96, distance % 95 + 1))?,
        '\u{100}'.. => char::from_u32(back(code & !0xff, 256, distance % 127 + 1))?,
        character => character,
    })
}

#[cfg(test)]
mod tests {
    use super::super::rclone::tests::{SALT, remote};

    /// Names, and what `rclone cryptdecode --reverse` of rclone 1.60.1 made of them.
    const NAMES: [&str; 5] = [
        "1",
        "a/sixteen bytes in",
        "dir/A name that is longer than one block: ä ! 99Zz.txt",
        "x-v2001-02-03-040506-123.txt",
        "日本語/ÿ¡.tar.gz",
    ];
    const STANDARD: [&str; 5] = [
        "1pchmt6p4aptksdf61udu82odg",
        "qubbiq41v0rflskaoh3a32eqsk/9t9kc9luh0jvd9r9pdggdbaoo4ajaj50ni5te42ra8h00mgc57eg",
        "ui2dm7gjvdq7cpnopbn28i46mo/39c315r3no1t45g724l9n8oeevgjuesvepomdlbdf8pl0ljgoae8ii6ngts9q\
         0o4u17hvcj8vmmjiuprnm7sge505it6tgamgch1eng",
        "ejbd0eavhhbrjb2lijr11qab70-v2001-02-03-040506-123",
        "ooka8i7h4kg8cp6rgp7vnf50rk/66davcml3r5e4j75a8mjh86kfc",
    ];
    const WITHOUT_SALT: [&str; 5] = [
        "cdlunj14dt24sun0586f8q2eos",
        "4bsoolnf3ntco1c6qtbuk72vcg/49en48usm8080o8vn5kbr2tql7qmu06na4e3re1p5mq4lmodja1g",
        "sd3i9dpga95b3a5n882pdu7se0/hdt5gmku72slr2vhst8p2pj0cl0oq692cq36khblu70989ikoe65l6js7m1an\
         o4ncf5mfefoclf3nveg4kdes22om0r6sb49b76mhng",
        "1579u69dvi6u6bvlpdn27nv5f0-v2001-02-03-040506-123",
        "9jrtt6bfmj1ih7us5akenadmu8/anj8rdu2h6qs1nns7mj27r7sh8",
    ];
    const BASE64: [&str; 5] = [
        "DlkbdNkis9pxrzB83yBYbA",
        "15a5aIH4NvryisRGoYna5Q/T1NGJr6IJ_anacthBq1YwRU1TKC8i9cQW1IiAFoMKd0",
        "9ITbHhP7dHZm-MruJEiGtg/Glgwl2O-A9IWBxEqm6MOd-E_O592cWbVbXozUFZwwpyJSNeHeJ0DBPBPH7Jo_a05e\
         zu9j8g4oCy6bsFWgyIXXg",
        "dNbQOV-MV7msVZT2EOlLOA-v2001-02-03-040506-123",
        "xiikSPElIIZk24ZP-7yg3Q/MZqvstUeyuJM5VItOKDUew",
    ];
    const BASE32768: [&str; 5] = [
        "⏌洽䅤冝秭挡ꁞ䚘峟",
        "鈫咺㙿ᓯ練共ⵃ➚饟/三矩縱Ꮏ宛䵭桭厸蛪玳㩗漝廢鎨橠聬㬮ʟ",
        "ꃢ崧棟嶧妗見芨滦臟/ⴌ⫥鋗蚝㛰䊄算䥎扐瘮驎赶崋屈贀糐螮䢒䄰鷩蹸㨁䑿壈ꗖ璾跗罜栥ޒ鬽架柱᧷ɿ",
        "惋婮剑毛珂粳銁辫䊿-v2001-02-03-040506-123",
        "襴佲䑤硨妆鑹䘷挀镟/㼍剌脃錎㢧㮈胑䜔摟",
    ];
    const OBFUSCATED: [&str; 5] = [
        "49.5",
        "97.g/62.NDSOzzI wTOzN DI",
        "63.zEN/65.Y LyKC RFyR GQ JMLECP RFyL MLC zJMAI: ¡ !! 11xX.RVR",
        "6.M-v2001-02-03-040506-123.IMI",
        "175.旨术誡/36.þ\u{a0}.NuL.AT",
    ];

    #[test]
    fn names_that_rclone_hid_are_opened() {
        for (more, hidden) in [
            (SALT, STANDARD),
            ("", WITHOUT_SALT),
            (&format!("{SALT}filename_encoding = base64\n"), BASE64),
            (&format!("{SALT}filename_encoding = base32768\n"), BASE32768),
            (&format!("{SALT}filename_encryption = obfuscate\n"), OBFUSCATED),
        ] {
            let crypt = remote(more).unwrap().crypt;
            for (name, hidden) in NAMES.iter().zip(hidden) {
                assert_eq!(crypt.open_key(hidden, false).as_deref(), Some(*name), "{more}");
            }
        }
        let folders = format!("{SALT}directory_name_encryption = false\n");
        let crypt = remote(&folders).unwrap().crypt;
        let (_, file) = STANDARD[1].split_once('/').unwrap();
        let opened = crypt.open_key(&format!("a/{file}"), false);
        assert_eq!(opened.as_deref(), Some("a/sixteen bytes in"));
        assert_eq!(crypt.open_key("a/b/", true).as_deref(), Some("a/b/"));
        let crypt = remote(SALT).unwrap().crypt;
        assert_eq!(crypt.open_key(&(STANDARD[0].to_owned() + "/"), true).as_deref(), Some("1/"));
        assert_eq!(crypt.open_key(&(STANDARD[0].to_owned() + "/"), false), None);
        // Base32 has either case.
        let upper = STANDARD[0].to_ascii_uppercase();
        assert_eq!(crypt.open_key(&upper, false).as_deref(), Some("1"));
    }

    #[test]
    fn names_without_encryption_have_a_suffix() {
        for (suffix, stored) in
            [("", "a/b.bin"), ("suffix = enc", "a/b.enc"), ("suffix = none", "a/b")]
        {
            let more = format!("filename_encryption = off\n{suffix}\n");
            let crypt = remote(&more).unwrap().crypt;
            assert_eq!(crypt.open_key(stored, false).as_deref(), Some("a/b"));
        }
        let crypt = remote("filename_encryption = off\n").unwrap().crypt;
        assert_eq!((crypt.open_key("a/b", false), crypt.open_key(".bin", false)), (None, None));
    }

    #[test]
    fn other_names_are_refused() {
        let crypt = remote(SALT).unwrap().crypt;
        let changed = STANDARD[0].replace('1', "2");
        for name in ["plain.txt", "a b", "", &STANDARD[0][1..], &changed, WITHOUT_SALT[0]] {
            assert_eq!(crypt.open_key(name, false), None, "{name}");
        }
        let long = "0".repeat(3_284);
        assert_eq!(crypt.open_key(&long, false), None);
        let crypt = remote(&format!("{SALT}filename_encryption = obfuscate\n")).unwrap().crypt;
        for name in ["plain", "x.y", "-1.a", "1000.a", "1.a!", ".a"] {
            assert_eq!(crypt.open_key(name, false), None, "{name}");
        }
        assert_eq!(crypt.open_key("!.a", false).as_deref(), Some("a"));
    }
}
