//! Instruction sets, each with its compiler and its emulator.

use std::path::Path;
use std::process::{Command, Stdio};

/// Toolchain for Xtensa: only nightly compilers have its assembly macro and can build `core` for
/// it. It is pinned, because instruction counts change with the compiler.
const NIGHTLY: &str = "nightly-2026-10-30";
/// Time limit of a run, which usually takes a minute or two.
const SECONDS: &str = "900";

pub(super) struct Machine {
    /// Name of the machine on the command line.
    pub(super) name: &'static str,
    /// Name of the instruction set in the output.
    pub(super) isa: &'static str,
    target: &'static str,
    /// Compiler, if it is not the workspace's. `core` is then built with it.
    pub(super) nightly: Option<&'static str>,
    /// Programs that are needed, with their Debian packages.
    tools: &'static [(&'static str, &'static str)],
    /// The emulator with its options. The image is appended.
    emulator: &'static str,
    /// Number of instructions by which two runs may differ. Where the counter is a timer this is
    /// three of its ticks, because the host updates the timer at varying instructions.
    pub(super) tolerance: u64,
}

/// All machines, in the order in which they run and appear in the table.
pub(super) const MACHINES: &[Machine] = &[
    Machine {
        name: "rv32",
        isa: "rv32imc",
        target: "riscv32imc-unknown-none-elf",
        nightly: None,
        tools: &[("qemu-system-riscv32", "qemu-system-misc")],
        emulator: "qemu-system-riscv32 -machine virt -bios none -icount shift=0 -display none \
                   -monitor none -serial stdio -kernel ",
        tolerance: 1,
    },
    Machine {
        name: "cortex-m4",
        isa: "cortex-m4",
        target: "thumbv7em-none-eabihf",
        nightly: None,
        tools: &[("qemu-system-arm", "qemu-system-arm")],
        emulator: "qemu-system-arm -machine mps2-an386 -icount shift=0 -display none \
                   -monitor none -serial stdio -semihosting-config enable=on,target=native -kernel ",
        tolerance: 120,
    },
    Machine {
        name: "lx7",
        isa: "xtensa-lx7",
        target: "xtensa-esp32s3-none-elf",
        nightly: Some(NIGHTLY),
        tools: &[
            ("qemu-system-xtensa", "qemu-system-misc"),
            ("xtensa-lx106-elf-ld", "binutils-xtensa-lx106"),
        ],
        // The option `-kernel` would reset the entry point.
        emulator: "qemu-system-xtensa -machine sim -cpu dc233c -m 64 -icount shift=0 -display none \
                   -monitor none -serial stdio -semihosting -device loader,cpu-num=0,file=",
        tolerance: 300,
    },
];

/// Output and exit status of a run.
pub(super) struct Output {
    pub(super) text: String,
    /// True if the emulator ended with exit code 0.
    pub(super) succeeded: bool,
}

impl Machine {
    /// Returns the reason why this machine cannot be built for or run here.
    pub(super) fn missing(&self) -> Option<String> {
        let absent = |tool: &str| Command::new(tool).arg("--version").output().is_err();
        if let Some((tool, package)) = self.tools.iter().find(|(tool, _)| absent(tool)) {
            return Some(format!("there is no {tool}; apt-get install {package}"));
        }
        match self.nightly {
            None => {
                // Without rustup the installed targets are unknown, and the build decides.
                let list = rustup(&["target", "list", "--installed"])?;
                (!list.lines().any(|line| line == self.target))
                    .then(|| format!("rustup target add {}", self.target))
            }
            Some(nightly) => {
                let list = rustup(&["component", "list", "--installed", "--toolchain", nightly]);
                (!list.is_some_and(|it| it.lines().any(|line| line == "rust-src"))).then(|| {
                    format!("rustup toolchain install {nightly} --profile minimal -c rust-src")
                })
            }
        }
    }

    pub(super) fn build_and_run(&self, root: &Path) -> Result<Output, String> {
        let folder = root.join("firmware");
        let mut cargo = Command::new("cargo");
        cargo.args(self.nightly.map(|nightly| format!("+{nightly}")));
        cargo.args(["build", "--release", "--locked", "--target", self.target]);
        if self.nightly.is_some() {
            cargo.args(["-Zbuild-std=core", "-Zbuild-std-features=compiler-builtins-mem"]);
        }
        // The configuration of this folder applies, and not the caller's.
        cargo.current_dir(&folder).stdout(Stdio::null());
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTUP_TOOLCHAIN"]
        {
            cargo.env_remove(name);
        }
        let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err(format!("the firmware for {} was not built: {status}", self.target));
        }
        let image = folder.join("target").join(self.target).join("release/firmware");
        let words = format!("--kill-after=5 {SECONDS} {}{}", self.emulator, image.display());
        let output = Command::new("timeout")
            .args(words.split_whitespace())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("timeout: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Output { text, succeeded: output.status.success() })
    }
}

/// Returns the output of rustup, if it is installed and succeeds.
fn rustup(words: &[&str]) -> Option<String> {
    let output = Command::new("rustup").args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
