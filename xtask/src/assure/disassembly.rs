//! Checks the compiled vector kernels: every conditional jump must depend on a counter or a length,
//! and no instruction may gather from memory.
//!
//! A jump passes if its flags come from a comparison, test, sum or difference of general registers,
//! constants and stack slots, and no register in it was last written from a vector or mask
//! register. In the kernels secrets are in vectors and in memory that only vectors read. Each
//! function has a reviewed number of such jumps, so that a new one fails the check until it has
//! been reviewed.

use std::path::Path;
use std::process::Command;

use super::cargo;
use crate::count::Count;
use crate::target_folder;

/// Path of the compiled library below the target folder.
const ARCHIVE: &str = "release/libendseal_crypto.rlib";

/// A function of the kernels, with its reviewed properties.
struct Function {
    name: &'static str,
    /// Number of instances that the compiler makes: one for each value of the constant parameters.
    instances: usize,
    /// True if the compiler may inline the function into all callers instead.
    may_be_inlined: bool,
    /// Largest number of reviewed conditional jumps in one instance.
    jumps: usize,
}

const fn function(name: &'static str, instances: usize, jumps: usize) -> Function {
    Function { name, instances, may_be_inlined: false, jumps }
}

const fn inlinable(name: &'static str, instances: usize, jumps: usize) -> Function {
    Function { name, instances, may_be_inlined: true, jumps }
}

/// The reviewed functions, by the end of their paths. Their loops depend on numbers of keys,
/// groups, limbs and bits.
const FUNCTIONS: &[Function] = &[
    // One loop over 251 masks.
    function("x86_64::ladder::ladder", 2, 1),
    function("x86_64::ladder::doubled", 2, 0),
    // A loop over 255 bits, with two ends.
    function("x86_64::ladder::Masks::new", 1, 2),
    // Chunks and groups of keys, limits of arrays.
    function("x86_64::batch::agree_in", 4, 48),
    inlinable("x86_64::batch::divide_into", 2, 24),
    function("x86_64::inversion::invert", 2, 0),
    // Eight vector lanes, of which some have no key.
    function("x86_64::lanes::Lanes<_>::from_bytes", 2, 8),
    function("x86_64::lanes::Lanes<_>::to_bytes", 2, 8),
    // The same for AVX2 and FMA: one loop over 251 masks.
    inlinable("x86_64_fma::ladder::ladder", 1, 1),
    function("x86_64_fma::ladder::doubled", 1, 0),
    inlinable("x86_64_fma::field::multiply", 1, 0),
    // Chunks and groups of keys, limits of arrays, and the loop of the ladder.
    function("x86_64_fma::batch::agree", 1, 20),
    inlinable("x86_64_fma::batch::number", 1, 8),
    inlinable("x86_64_fma::batch::elements", 1, 0),
    // 10 matrices of 59 steps.
    function("low::divsteps25519::invert", 1, 2),
    // Groups and parts of the text and of the associated data; the first group hashes nothing. The
    // longest message, and in two loops the number of blocks that are left.
    function("vaes::aes256_gcm::Aes256Gcm::crypt", 2, 14),
    function("vaes::aes256_gcm::Aes256Gcm::expand", 1, 0),
    function("vaes::aes256::Aes256::expand", 1, 0),
];

/// Builds the release library and checks its kernels.
pub(super) fn check(root: &Path) -> Result<Count, String> {
    let build = "build --release --package endseal-crypto --locked --quiet";
    let status = cargo(root, build).status();
    if !status.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("the release build failed".to_owned());
    }
    let listing = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
        .arg(target_folder(root).join(ARCHIVE))
        .output()
        .map_err(|error| format!("objdump (binutils) is needed: {error}"))?;
    if !listing.status.success() {
        return Err(format!("objdump: {}", String::from_utf8_lossy(&listing.stderr)));
    }
    let report = judge(&String::from_utf8_lossy(&listing.stdout), FUNCTIONS);
    report.findings.iter().for_each(|finding| println!("{finding}"));
    let what = format!("jumps in {} kernel functions", report.instances);
    Ok(Count { done: report.jumps, what, failures: report.findings.len() })
}

#[derive(Debug, Default, PartialEq)]
struct Report {
    instances: usize,
    jumps: usize,
    findings: Vec<String>,
}

fn judge(listing: &str, functions: &[Function]) -> Report {
    let mut report = Report::default();
    let symbols: Vec<Symbol<'_>> = symbols(listing);
    for function in functions {
        let is_named = |symbol: &&Symbol<'_>| {
            let head = symbol.name.strip_suffix(function.name);
            head.is_some_and(|head| head.ends_with("::"))
        };
        let instances: Vec<_> = symbols.iter().filter(is_named).collect();
        let (name, found) = (function.name, instances.len());
        let inlined = function.may_be_inlined && found == 0;
        if found != function.instances && !inlined {
            let expected = function.instances;
            report.findings.push(format!("{name}: {found} instances instead of {expected}"));
        }
        for instance in instances {
            let jumps = instance.judge(name, &mut report.findings);
            if jumps > function.jumps {
                let reviewed = function.jumps;
                report
                    .findings
                    .push(format!("{name}: {jumps} jumps, of which {reviewed} reviewed"));
            }
            report.instances += 1;
            report.jumps += jumps;
        }
    }
    report
}

struct Symbol<'a> {
    name: &'a str,
    code: Vec<Instruction<'a>>,
}

#[derive(Clone, Copy)]
struct Instruction<'a> {
    mnemonic: &'a str,
    /// Separated by commas as in GNU syntax, with the destination last.
    operands: &'a str,
}

fn symbols(listing: &str) -> Vec<Symbol<'_>> {
    let mut symbols: Vec<Symbol<'_>> = Vec::new();
    for line in listing.lines() {
        let name = line.split_once(" <").and_then(|(_, name)| name.strip_suffix(">:"));
        if let Some(name) = name {
            symbols.push(Symbol { name, code: Vec::new() });
        } else if let (Some(symbol), Some((_, text))) = (symbols.last_mut(), line.split_once('\t'))
        {
            symbol.code.extend(Instruction::parse(text));
        }
    }
    symbols
}

impl<'a> Instruction<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        const PREFIXES: &[&str] = &["bnd", "notrack", "data16", "cs", "ds", "rep", "repz", "lock"];
        let mut text = text.trim();
        loop {
            let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
            if word.is_empty() {
                return None;
            }
            if !PREFIXES.contains(&word) {
                let operands = rest.split(" #").next().unwrap_or_default().trim();
                return Some(Self { mnemonic: word, operands });
            }
            text = rest.trim_start();
        }
    }

    fn is_conditional_jump(&self) -> bool {
        let other = self.mnemonic.starts_with("jmp");
        self.mnemonic.starts_with("loop") || self.mnemonic.starts_with('j') && !other
    }

    fn is_computed_jump(&self) -> bool {
        self.mnemonic.starts_with("jmp") && self.operands.starts_with('*')
    }

    fn gathers(&self) -> bool {
        self.mnemonic.contains("gather") || self.mnemonic.contains("scatter")
    }

    /// Returns true for instructions that write no flag: moves, addresses, conditional moves, jumps
    /// and vectors, but not tests of vectors.
    fn keeps_flags(&self) -> bool {
        const KEEP: &[&str] = &["mov", "lea", "nop", "cmov", "set", "j", "push", "pop", "xchg"];
        let tests = self.mnemonic.contains("test") || self.mnemonic.contains("comi");
        let vector = self.mnemonic.starts_with(['v', 'k']) && !tests;
        vector || KEEP.iter().any(|start| self.mnemonic.starts_with(start))
    }

    fn operands(&self) -> Vec<&'a str> {
        let mut parts = Vec::new();
        let (mut depth, mut start) = (0, 0);
        for (at, c) in self.operands.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&self.operands[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&self.operands[start..]);
        parts
    }

    /// Returns true for instructions that fill a general register from a vector, a mask or a flag.
    fn brings_vector_or_flag(&self) -> bool {
        const FROM_FLAGS: &[&str] = &["set", "bt", "sbb", "adc", "rcl", "rcr"];
        self.mnemonic.starts_with(['v', 'k'])
            || self.mnemonic.contains("movmsk")
            || FROM_FLAGS.iter().any(|start| self.mnemonic.starts_with(start))
    }
}

impl Symbol<'_> {
    /// Checks all instructions. Returns the number of conditional jumps.
    fn judge(&self, name: &str, findings: &mut Vec<String>) -> usize {
        let mut jumps = 0;
        for (at, instruction) in self.code.iter().enumerate() {
            if instruction.gathers() {
                findings
                    .push(format!("{name}: {} reads by secret addresses", instruction.mnemonic));
            } else if instruction.is_computed_jump() {
                findings.push(format!("{name}: a computed jump"));
            } else if instruction.is_conditional_jump() {
                jumps += 1;
                if let Err(why) = self.judge_jump(at) {
                    findings
                        .push(format!("{name}: jump {jumps} ({}): {why}", instruction.mnemonic));
                }
            }
        }
        jumps
    }

    fn judge_jump(&self, at: usize) -> Result<(), String> {
        let Some((flags_at, flags)) =
            (0..at).rev().map(|i| (i, &self.code[i])).find(|(_, it)| !it.keeps_flags())
        else {
            return Err("no instruction makes its flags".to_owned());
        };
        let base = flags.mnemonic.trim_end_matches(['b', 'w', 'l', 'q']);
        // `sub` ends with `b`, which is also a suffix of operand size.
        let base = if flags.mnemonic.starts_with("sub") { "sub" } else { base };
        let counts = ["cmp", "test", "add", "sub", "inc", "dec"].contains(&base);
        let text = format!("{} {}", flags.mnemonic, flags.operands);
        if !counts {
            return Err(format!("its flags come from `{text}`"));
        }
        for operand in flags.operands() {
            if operand.starts_with('$') || operand.ends_with("(%rsp)") {
                continue;
            }
            let Some(register) = Register::named(operand) else {
                return Err(format!("`{text}` reads memory or a part of a register"));
            };
            let writer = self.code[..flags_at].iter().rev().find(|it| register.is_written_by(it));
            if let Some(writer) = writer.filter(|it| it.brings_vector_or_flag()) {
                let from = format!("{} {}", writer.mnemonic, writer.operands);
                return Err(format!("`{text}` reads what `{from}` wrote"));
            }
        }
        Ok(())
    }
}

/// A general register, independent of the part of it that an instruction names.
#[derive(PartialEq)]
struct Register(String);

impl Register {
    fn named(operand: &str) -> Option<Self> {
        let name = operand.strip_prefix('%')?;
        let letters = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];
        if let Some(number) =
            name.strip_prefix('r').map(|rest| rest.trim_end_matches(['d', 'w', 'b']))
            && number.parse::<u8>().is_ok()
        {
            return Some(Self(number.to_owned()));
        }
        let base = name.strip_prefix(['r', 'e']).unwrap_or(name);
        let low = base
            .strip_suffix('l')
            .map(|base| if base.len() == 1 { format!("{base}x") } else { base.to_owned() });
        let base = low.unwrap_or_else(|| base.to_owned());
        letters.contains(&base.as_str()).then_some(Self(base))
    }

    fn is_written_by(&self, instruction: &Instruction<'_>) -> bool {
        const ONLY_READ: &[&str] = &["cmp", "test", "push", "j", "call"];
        let reads = ONLY_READ.iter().any(|start| instruction.mnemonic.starts_with(start));
        let target = instruction.operands().last().copied().and_then(Self::named);
        !reads && target.is_some_and(|target| target == *self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &[Function] = &[function("low::kernel", 1, 1)];

    fn findings(code: &[&str]) -> Vec<String> {
        let mut listing = "0000000000000000 <endseal_crypto::low::kernel>:\n".to_owned();
        for line in code {
            listing.push_str(&format!("   0:\t{line}\n"));
        }
        judge(&listing, ONE).findings
    }

    #[test]
    fn counters_and_lengths_pass() {
        let passing: &[&[&str]] = &[
            &["add    $0x8,%rax", "cmp    $0x7e0,%rax", "jne    570 <x+0x570>"],
            &["dec    %edx", "mov    %r11,%rbx", "jne    150 <x>"],
            &["test   %rax,%rax", "vpaddq %zmm1,%zmm2,%zmm3", "lea    0x8(%rcx),%rcx", "je 86 <x>"],
            &["cmp    %r14,0x40(%rsp)", "je     f20 <x>"],
            &["sub    $0x1,%rax", "jb     86 <x>"],
            &["test   $0x1,%bl", "je     480 <x>"],
        ];
        for code in passing {
            assert_eq!(findings(code), [""; 0], "{code:?}");
        }
    }

    #[test]
    fn jumps_on_secrets_are_found() {
        let failing: &[(&[&str], &str)] = &[
            (&["kortestb %k0,%k1", "je     40 <x>"], "kortestb"),
            (&["vptest %ymm0,%ymm0", "je     40 <x>"], "vptest"),
            (&["vmovq  %xmm0,%rax", "test   %rax,%rax", "je     40 <x>"], "vmovq"),
            (&["kmovb  %k1,%eax", "test   $0x1,%al", "jne    40 <x>"], "kmovb"),
            (&["cmpb   $0x0,(%rdi)", "je     40 <x>"], "reads memory"),
            (&["and    $0x1,%eax", "jne    40 <x>"], "`and"),
            (&["bt     $0x3,%rax", "jb     40 <x>"], "`bt"),
            (&["je     40 <x>"], "no instruction"),
            (&["vpgatherqq (%rax,%zmm1,8),%zmm0{%k1}"], "gather"),
            (&["notrack jmp *%rax"], "computed"),
        ];
        for (code, why) in failing {
            let found = findings(code);
            assert!(found.len() == 1 && found[0].contains(why), "{code:?}: {found:?}");
        }
    }

    #[test]
    fn an_unreviewed_jump_and_a_missing_function_are_found() {
        let twice = ["dec    %edx", "jne    150 <x>", "dec    %edx", "jne    150 <x>"];
        assert_eq!(findings(&twice), ["low::kernel: 2 jumps, of which 1 reviewed"]);
        let report = judge("", ONE);
        assert_eq!(report.findings, ["low::kernel: 0 instances instead of 1"]);
    }

    #[test]
    fn registers_are_known_by_all_their_names() {
        for names in [["%rax", "%eax", "%al"], ["%r11", "%r11d", "%r11b"], ["%rsi", "%esi", "%sil"]]
        {
            let found = names.map(Register::named);
            assert!(
                found[0].is_some() && found[0] == found[1] && found[1] == found[2],
                "{names:?}"
            );
        }
        assert!(Register::named("%xmm0").is_none() && Register::named("%k1").is_none());
    }
}
