//! Conversations over a hub (docs/spec/node.md): writing, sending, receiving and reading texts.
//!
//! | to do this | use |
//! |---|---|
//! | register at a hub | [`join`], [`register`] |
//! | get one's own person record back | [`recover`] |
//! | link a new device | [`register_other`], [`send_archive`], [`receive_archive`] |
//! | find the long identity of a person | [`long_identity`] |
//! | write a text | [`say`], [`answer`](answer()), [`read_texts`] |
//! | send and receive | [`sync`], or [`service`](crate::service) |
//! | read what arrived | [`unread`], [`mark_read`] |
//! | read what was written and read | [`history`] |
//! | cancel what was not sent, delete what was read | [`unsend`](unsend()), [`delete_texts`](delete_texts()) |
//! | leave a team, and see who has left | [`leave`](leave()), [`departures`](departures()) |
//! | decide who may write | [`requests`], [`accept`](accept()), [`block`](block()), [`set_muted`] |
//! | record that a safety number was compared | [`set_verified`] |
//! | see what waits and what went wrong | [`status`], [`problems`] |
//!
//! A text is encrypted only when it can be sent, in an MLS group of the devices that its persons
//! have at that time.

mod accept;
mod address_bytes;
mod answer;
mod approach;
mod archive_part;
mod archived;
mod arrivals;
mod block;
mod clock;
mod confirmation;
mod conversation;
pub(crate) mod conversation_text;
mod delete_texts;
mod depart;
mod departure;
mod device_change;
mod device_name;
mod devices;
mod directory;
mod drain;
mod due;
mod error;
mod frame_target;
mod hidden_team;
mod history;
mod hub;
mod hub_address;
mod hub_groups;
mod hub_move;
mod in_force;
mod inbox;
mod joined;
mod known_note;
mod known_persons;
mod known_record;
mod leave_error;
mod link;
mod link_error;
mod lookup;
mod lost_member;
mod membership;
mod node_files;
mod outbox;
mod participants;
mod payload;
mod pending_commit;
mod person_rules;
mod problem;
mod published;
mod puts;
mod read_marks;
mod read_texts;
mod receipt;
mod records;
mod recovery;
mod replaced;
mod replacement;
mod report;
mod request;
mod requeue;
mod resend;
mod rule;
mod rule_change;
mod rule_note;
mod runs;
mod send_state;
mod send_turns;
mod shared_engine;
mod status;
mod stay;
mod sync;
mod team_change;
mod text;
mod text_delivery;
mod text_id;
mod unconfirmed;
mod undelivered;
mod unfinished;
mod unfollowed;
mod unsend;
mod unsent;
mod waiting;
mod welcomes;

pub use accept::{accept, settle_contacts, settle_inbox};
pub use answer::answer;
pub(crate) use archived::{
    ArchivedItem, each_archived, is_archived_item, restore_archived, settle_restored,
};
pub(crate) use block::muted;
pub use block::{block, set_muted, set_verified, unblock};
pub use conversation::Conversation;
pub use delete_texts::{delete_texts, delete_texts_before};
pub use departure::{Departure, departures, leave};
pub use device_change::{DeviceChange, device_changes, mark_changes_seen, unseen_changes};
pub use device_name::{DeviceName, NamedDevice, device_name, name_device};
pub use devices::{Devices, devices};
pub use error::{AcceptError, ForgetError, HubError, JoinError, SayError, SyncError};
pub(crate) use frame_target::Target;
pub use hidden_team::TeamRequest;
pub(crate) use history::history_page;
pub use history::{Confirmed, HistoryRow};
pub use hub::{HubClient, hub_limits};
pub use hub_groups::carried_groups;
pub(crate) use hub_groups::is_hub_group;
pub use hub_move::HubMove;
pub(crate) use inbox::unread_page;
pub use inbox::{Unread, is_from_hub, mark_read, unread};
pub use leave_error::LeaveError;
pub use link::{finish_link, note_link, receive_archive, register_other, send_archive};
pub(crate) use link::{is_linking, mark_linking};
pub use link_error::LinkError;
pub use lookup::long_identity;
pub(crate) use membership::forget_hub_numbers;
pub use membership::{Membership, join, membership, note_hub, publish_person, register};
pub use node_files::NodeFiles;
pub use outbox::{read_texts, say};
pub use payload::{HubGroupId, Payload, PayloadKind};
pub use person_rules::{PersonRules, person_rules};
pub use problem::{Problem, ProblemClass, forget_problems, problems};
pub use receipt::TextReceipt;
pub(crate) use records::now;
pub use recovery::{PersonAtHub, recover};
pub use report::{Lost, PersonTexts, ReportedConversation, Skipped, SkippedReason, SyncReport};
pub use request::{RequestText, requests};
pub(crate) use resend::{begin_anew, former_keys, texts_in_outbox};
pub use rule_note::RuleNote;
pub(crate) use shared_engine::SharedEngine;
pub use status::{Status, status};
pub(crate) use stay::{Stay, StayEvents};
pub use sync::sync;
pub use team_change::{TeamChange, TeamChangeKind};
pub use text::{MAX_TEXT_LEN, Text};
pub use text_delivery::TextDelivery;
pub use undelivered::history;
pub(crate) use undelivered::note_delivery;
pub(crate) use unfinished::mark_unfinished;
pub use unfinished::{finish, is_unfinished};
pub use unsend::{unsend, unsend_all};
pub(crate) use waiting::waiting_page;
