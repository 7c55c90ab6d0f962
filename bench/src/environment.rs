//! The machine and the program of a run, which a reader needs to judge its figures.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The machine and the program of a run. A field is empty if the system does not report it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Environment {
    /// Version of endseal that was measured.
    pub endseal: String,
    /// Commit of the checkout in which the run was started, with `+` if it had changes.
    pub commit: String,
    /// Profile that endseal was built with: `debug` or `release`.
    pub profile: String,
    /// Link-time optimisation with which endseal was linked: [`NO_LTO`], `thin` or `fat`. Empty in
    /// records without this field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lto: String,
    /// Implementation of X25519 with many keys: `Portable`, `Fma` or `Ifma`.
    pub x25519: String,
    /// Model name of the CPU.
    pub cpu: String,
    /// Version of the CPU's microcode.
    pub microcode: String,
    /// CPU features that affect the figures, such as AVX-512.
    pub cpu_features: Vec<String>,
    /// Number of CPUs that this process may use.
    pub cpus: usize,
    /// Frequency governor of the CPU.
    pub governor: String,
    /// True if the machine is a virtual machine.
    pub virtual_machine: bool,
    /// Size of the machine's memory in MiB.
    pub memory_mib: u64,
    /// Operating system and kernel version.
    pub kernel: String,
    /// Version of the Rust compiler that is installed on the machine.
    pub rustc: String,
    /// Start of the run, in seconds since 1970.
    pub started: u64,
    /// Duration of the run in seconds.
    pub seconds: u64,
    /// One-minute load average, at the start and at the end.
    pub load: [f64; 2],
    /// Share of CPU time that the hypervisor gave to others during the run, 0 to 1.
    pub steal: f64,
}

/// Value of [`Environment::lto`] without optimisation across crates.
pub const NO_LTO: &str = "off";

/// Returns the command that builds the shipped program in the profile of this program.
#[must_use]
pub fn build_command() -> &'static str {
    match env!("ENDSEAL_BENCH_LTO") {
        _ if cfg!(debug_assertions) => "cargo build",
        "thin" => "cargo build --profile bench",
        "fat" => "cargo build --profile dist",
        _ => "cargo build --release",
    }
}

/// CPU features that are recorded.
const FEATURES: &[&str] =
    &["aes", "vaes", "pclmulqdq", "vpclmulqdq", "sha_ni", "avx2", "fma", "avx512f", "avx512ifma"];

impl Environment {
    /// Reads everything that is known at the start of a run; `now` is in seconds since 1970.
    #[must_use]
    pub fn capture(now: u64) -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let field = |name: &str| {
            cpuinfo
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default()
        };
        let flags = field("flags");
        let has = |flag: &str| flags.split(' ').any(|other| other == flag);
        let governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
        Self {
            endseal: env!("CARGO_PKG_VERSION").into(),
            commit: commit(),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
            lto: env!("ENDSEAL_BENCH_LTO").into(),
            x25519: match endseal_crypto::x25519::Platform::detect() {
                endseal_crypto::x25519::Platform::Portable => "Portable".into(),
                endseal_crypto::x25519::Platform::Fma(_) => "Fma".into(),
                _ => "Ifma".into(),
            },
            cpu: field("model name"),
            microcode: field("microcode"),
            cpu_features: FEATURES.iter().filter(|f| has(f)).map(|f| (*f).to_owned()).collect(),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            governor: read(governor).trim().into(),
            virtual_machine: has("hypervisor"),
            memory_mib: memory_mib(),
            kernel: read("/proc/version").split(" (").next().unwrap_or_default().into(),
            rustc: output("rustc", &["--version"]),
            started: now,
            load: [load(), 0.0],
            ..Self::default()
        }
    }

    /// Adds everything that is known at the end of a run; `now` is in seconds since 1970.
    pub fn finish(&mut self, now: u64, start: &CpuTimes) {
        self.seconds = now.saturating_sub(self.started);
        self.load[1] = load();
        self.steal = CpuTimes::now().steal_since(start);
    }
}

/// CPU times of the machine since it was started, in jiffies, summed over all CPUs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CpuTimes {
    total: u64,
    steal: u64,
}

impl CpuTimes {
    /// Reads the current times from `/proc/stat`. All are zero where it cannot be read.
    #[must_use]
    pub fn now() -> Self {
        let stat = read("/proc/stat");
        let first = stat.lines().next().unwrap_or_default();
        let fields: Vec<u64> =
            first.split_whitespace().skip(1).take(8).filter_map(|f| f.parse().ok()).collect();
        Self { total: fields.iter().sum(), steal: fields.get(7).copied().unwrap_or_default() }
    }

    #[allow(clippy::cast_precision_loss, reason = "a share")]
    fn steal_since(self, start: &Self) -> f64 {
        let total = self.total.saturating_sub(start.total).max(1);
        self.steal.saturating_sub(start.steal) as f64 / total as f64
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn load() -> f64 {
    read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default()
}

fn memory_mib() -> u64 {
    read("/proc/meminfo")
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|value| value.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .unwrap_or_default()
        / 1024
}

fn commit() -> String {
    let head = output("git", &["rev-parse", "--short=12", "HEAD"]);
    if head.is_empty() {
        return head;
    }
    let changed = !output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    if changed { head + "+" } else { head }
}

/// Returns the first line that a program prints, or an empty string.
fn output(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .and_then(|text| text.lines().next().map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    /// The build script cannot read the setting and relies on the profiles in the manifest.
    #[test]
    fn profiles_are_as_the_build_script_takes_them_to_be() {
        let manifest = include_str!("../Cargo.toml");
        let section = |name: &str| {
            let start = manifest.find(&format!("[profile.{name}]")).expect("the profile");
            manifest[start..].split("\n[").next().expect("a section").to_owned()
        };
        let release = section("release");
        assert!(release.contains("debug = false") && !release.contains("lto"));
        let bench = section("bench");
        assert!(bench.contains("lto = \"thin\"") && bench.contains("debug = \"line-tables-only\""));
        assert!(section("dist").contains("lto = \"fat\""));
    }
}
