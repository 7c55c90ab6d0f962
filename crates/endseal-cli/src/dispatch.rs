//! Maps commands to the functions that run them.

use crate::args::Command;
use crate::cmd;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

/// Runs a command and returns its result.
///
/// # Errors
/// Returns the failure of the command.
pub(crate) fn dispatch(command: Command, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match command {
        Command::Init(args) => cmd::init::run(args, ctx),
        Command::Id(args) => cmd::id::run(args, ctx),
        Command::Contacts(args) => cmd::contacts::run(args, ctx),
        Command::Group(args) => cmd::group::run(args, ctx),
        Command::Peers(args) => cmd::peers::run(args, ctx),
        Command::Seal(args) => cmd::seal::run(&args, ctx),
        Command::Open(args) => cmd::open::run(&args, ctx),
        Command::Join(args) => cmd::join::run(&args, ctx),
        Command::Recover(args) => cmd::recover::run(&args, ctx),
        Command::Backup(args) => cmd::backup::run(&args, ctx),
        Command::Restore(args) => cmd::restore::run(&args, ctx),
        Command::Devices(args) => cmd::devices::run(&args, ctx),
        Command::Say(args) => cmd::say::run(&args, ctx),
        Command::Sync(args) => cmd::sync::run(&args, ctx),
        Command::Up(args) => cmd::up::run(&args, ctx),
        Command::Inbox(args) => cmd::inbox::run(&args, ctx),
        Command::History(args) => cmd::history::run(&args, ctx),
        Command::Unsend(args) => cmd::unsend::run(&args, ctx),
        Command::Block(args) => cmd::block::run(&args, ctx),
        Command::Unblock(args) => cmd::block::unblock(&args, ctx),
        Command::Status(args) => cmd::status::run(&args, ctx),
        Command::Session(args) => cmd::session::run(args, ctx),
        Command::Store(args) => cmd::store::run(args, ctx),
        Command::S3(args) => cmd::s3::run(&args, ctx),
        Command::Nostr(args) => cmd::nostr::run(args, ctx),
        Command::Hub(args) => cmd::hub::run(&args, ctx),
        Command::Signer(args) => cmd::signer::run(args, ctx),
        Command::Listen(args) => cmd::listen::run(&args, ctx),
        Command::Send(args) => cmd::send::run(&args, ctx),
        Command::Ping(args) => cmd::ping::run(&args, ctx),
        Command::Inspect(args) => cmd::inspect::run(&args, ctx),
        Command::Bench(args) => Err(cmd::bench::run(&args)),
        Command::Completions(args) => cmd::completions::run(&args, ctx),
        Command::Man(args) => cmd::man::run(&args, ctx),
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use std::io::{self, Write};
    use std::process;
    use std::rc::Rc;

    use super::*;
    use crate::args;
    use crate::global::Global;

    /// A stream that stores all written bytes.
    #[derive(Clone, Default)]
    struct Written(Rc<RefCell<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    /// Runs a command with a simulated context. Returns exit code, standard output and standard
    /// error.
    fn run(now: u64, input: &[u8], args: &[&str]) -> (u8, Vec<u8>, String) {
        let (stdout, stderr) = (Written::default(), Written::default());
        let mut ctx = Ctx {
            stdin: Box::new(io::Cursor::new(input.to_vec())),
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(stderr.clone()),
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            now,
            environment: |_| None,
            global: Global::default(),
        };
        let args = ["endseal"].iter().chain(args);
        let code = match args::parse(args) {
            Ok(cli) => ctx.run(cli.global, Ok(()), |ctx| dispatch(cli.command, ctx)),
            Err(error) => ctx.usage(error),
        };
        drop(ctx);
        (code, stdout.0.take(), stderr.text())
    }

    #[test]
    fn commands_run_without_a_process() {
        let home = std::env::temp_dir().join(format!("endseal-ctx-{}", process::id()));
        let path = home.to_str().unwrap();
        let (code, identity, _) = run(0, b"", &["--home", path, "init", "--no-passphrase"]);
        assert_eq!(code, 0);
        let identity = String::from_utf8(identity).unwrap();
        let seal = ["--home", path, "seal", "-r", identity.trim_end()];
        let (code, sealed, said) = run(951_782_400_000, b"at noon", &seal);
        assert_eq!((code, said), (0, String::new()));
        let (code, content, said) = run(0, &sealed, &["--home", path, "open"]);
        assert_eq!((code, &content[..]), (0, &b"at noon"[..]));
        assert_eq!(said, "sealed by yourself, dated 2000-02-29T00:00:00Z, suite x25519-mlkem768\n");
        std::fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn a_secret_that_was_typed_is_not_repeated() {
        let typed = "ENDSEAL-SECRET-1QPZRY9X8GF2TVDW0";
        for args in [["contacts", "add", typed, "x"], ["group", "show", typed, "x"]] {
            let (code, _, said) = run(0, b"", &args);
            assert_eq!(code, 2);
            assert!(!said.contains("QPZRY9X8"), "{said}");
        }
    }
}
