//! The messages of `proto/endseal/v1/hub.proto`: requests of a node and answers of a hub
//! (`docs/spec/delivery.md`).

mod answer;
mod request;

pub use answer::{
    Answer, AnswerView, CaughtUp, CaughtUpView, Code, Deliver, DeliverView, Gap, GapReason,
    GapView, HubAnswer, HubAnswerView, Person, PersonView, Prekey, PrekeyView, Refused,
    RefusedView, Stored, StoredView, Welcome, WelcomeView,
};
pub use request::{
    Acknowledge, AcknowledgeView, By, ByView, Commit, CommitView, Conversation, ConversationView,
    Credit, CreditView, Find, FindView, Hello, HelloView, HubRequest, HubRequestView, Publish,
    PublishView, Put, PutView, Recover, RecoverView, Register, RegisterView, Request, RequestView,
    Subscribe, SubscribeView, Take, TakeView,
};
