//! `endseal history`: prints the texts of a conversation.

mod delete;

use std::collections::VecDeque;

use endseal_node::api::{CallError, Page, Reply, Request, SecretText, TextRow};
use endseal_node::messages::{Confirmed, Conversation, TextDelivery};

use super::inbox::shown;
use super::say::any_conversation;
use super::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::names::Names;
use crate::names::identity_text;
use crate::node_access::{NodeAccess, with_node};
use crate::time::rfc3339;

/// Rows that are read at once.
const PAGE: u64 = 256;

/// Print or delete what was written to a person or a group, and what was read
///
/// The order is that of writing and reading on this device. A text of yours without a mark was
/// delivered. The number in "not sent, 17" is for --number and for endseal unsend. --json prints
/// all numbers. Deleting changes nothing on other devices: others keep their copies. A deleted text
/// that comes again is not shown again.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact, identity or group
    name: String,
    /// Delete texts on this device: all, or those that --before or --number names
    ///
    /// Texts that were not sent yet stay, unless --number names them: then they are not sent. Texts
    /// that were not read stay in endseal inbox.
    #[arg(long, conflicts_with_all = ["search", "last"])]
    delete: bool,
    /// Only texts that were written or read here before this day (YYYY-MM-DD, UTC)
    #[arg(long, value_name = "DAY", requires = "delete", conflicts_with = "number")]
    before: Option<String>,
    /// Only the text with this number; may be repeated
    #[arg(long, value_name = "N", requires = "delete")]
    number: Vec<u64>,
    /// Delete without asking
    #[arg(short, long, requires = "delete")]
    force: bool,
    /// Only texts with all of these words, in any case
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// Only the last texts
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    last: Option<u16>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let (other, name) = any_conversation(&args.name, ctx)?;
    if args.delete {
        return delete::run(args, (other, name), ctx);
    }
    let names = Names::load(&ctx.home()?)?;
    let words: Vec<String> = args
        .search
        .iter()
        .flat_map(|words| words.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    with_node(args.store.wait, ctx, |node, ctx| {
        let own = node.own();
        let matches = |row: &TextRow| {
            if words.is_empty() {
                return true;
            }
            let text = row.text.as_ref().map(|it| it.expose_secret().to_lowercase());
            text.is_some_and(|text| words.iter().all(|word| text.contains(word)))
        };
        let print = |row: &TextRow, ctx: &mut Ctx| {
            let writer = row.from;
            if ctx.global.json {
                let member = match other {
                    Conversation::Person(_) => None,
                    Conversation::Group(id) => names.member(&writer, Some(&id)),
                };
                let object = json::object([
                    ("number", row.number.into()),
                    ("sent", row.is_sent.into()),
                    ("from", identity_text(writer).into()),
                    ("member_name", member.into()),
                    ("device", row.device.into()),
                    ("time", row.time.map(rfc3339).into()),
                    ("text", row.text.as_ref().map(SecretText::expose_secret).into()),
                    ("delivery", row.delivery.map(delivery_name).into()),
                    ("confirmed", row.confirmed.map(|it| it.by).into()),
                    ("receivers", row.confirmed.map(|it| it.of).into()),
                ]);
                return ctx.print(format!("{object}\n").as_bytes());
            }
            let name = match other {
                // That device knows if it was delivered.
                _ if writer == own && !row.is_sent && other != Conversation::Person(own) => {
                    "me (sent by another device)".to_owned()
                }
                _ if writer == own => match row.delivery {
                    Some(TextDelivery::Unsent) => format!("me (not sent, {})", row.number),
                    Some(TextDelivery::Undelivered) => match row.confirmed {
                        Some(Confirmed { by, of }) if by > 0 => {
                            format!("me (delivered to {by} of {of})")
                        }
                        _ => "me (not delivered)".to_owned(),
                    },
                    Some(TextDelivery::Delivered) | None => "me".to_owned(),
                },
                Conversation::Person(_) => name.clone(),
                Conversation::Group(id) => names.person(&writer, Some(&id)),
            };
            ctx.print(shown(&name, row).as_bytes())
        };
        let (mut after, mut last) = (0, VecDeque::new());
        loop {
            let page = rows(node, other, after, PAGE)?;
            for row in page.rows.into_iter().filter(&matches) {
                match args.last {
                    None => print(&row, ctx)?,
                    Some(count) => {
                        if last.len() == usize::from(count) {
                            last.pop_front();
                        }
                        last.push_back(row.number);
                    }
                }
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        // Rows may be long, so that only the numbers are kept.
        for number in last {
            for row in rows(node, other, number - 1, 1)?.rows {
                print(&row, ctx)?;
            }
        }
        Ok(Outcome::default())
    })
}

fn rows(
    node: &mut NodeAccess<'_>,
    with: Conversation,
    after: u64,
    limit: u64,
) -> Result<Page<TextRow>, Failure> {
    match node.call(Request::History { with, after, limit })? {
        Reply::Texts(page) => Ok(page),
        _ => Err(CallError::Unexpected.into()),
    }
}

fn delivery_name(delivery: TextDelivery) -> &'static str {
    match delivery {
        TextDelivery::Unsent => "unsent",
        TextDelivery::Undelivered => "undelivered",
        TextDelivery::Delivered => "delivered",
    }
}
