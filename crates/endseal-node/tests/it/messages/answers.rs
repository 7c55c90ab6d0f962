//! Answers of programs to texts of the inbox, and the teams that they see.

use endseal_node::api::{CallError, ErrorKind, Reply, Request, SecretText, TextRow};
use endseal_node::messages::{Conversation, status};
use tokio::task::spawn_blocking;

use super::service::{Caller, ask, serving};
use super::teams::{change, group, texts, write};
use super::world::World;

/// Returns the numbers of the texts that were stored, or the reason why none was.
async fn answer(client: &Caller, number: u64, texts: &[&str]) -> Result<Vec<u64>, ErrorKind> {
    let texts = texts.iter().map(|text| SecretText::new((*text).to_owned())).collect();
    let client = client.clone();
    let answered = spawn_blocking(move || client.call(&Request::Answer { number, texts }));
    match answered.await.unwrap() {
        Ok(Reply::Said(said)) => {
            assert_eq!(said.texts, said.numbers.len() as u64);
            Ok(said.numbers)
        }
        Err(CallError::Failed(error)) => Err(error.kind),
        _ => panic!("another reply"),
    }
}

async fn unread(client: &Caller) -> Vec<TextRow> {
    ask(client, |it| it.texts(&Request::Unread { after: 0 })).await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_answered_once_in_its_conversation() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let team = group(&mut [&mut alice, &mut bob], &[]);
    alice.say(&bob.identity, "to bob");
    write(&mut alice, team.id(), "to the team");
    alice.sync(&world).await;
    let of_alice = alice.identity;
    serving(&world, &mut bob, async move |client| {
        ask(&client, |it| it.sync(1)).await;
        let rows = unread(&client).await;
        assert_eq!(rows.len(), 2);
        let too_long = "x".repeat(800_001);
        for row in &rows {
            // A refused answer leaves the text where it is.
            let refused = answer(&client, row.number, &["short", &too_long]).await;
            assert_eq!(refused, Err(ErrorKind::TooLong { text: 2 }));
            assert_eq!(unread(&client).await.len(), 2);
        }
        ask(&client, move |it| it.done(&Request::Block { person: of_alice })).await;
        let direct = rows.iter().find(|row| row.conversation == Conversation::Person(of_alice));
        let refused = answer(&client, direct.unwrap().number, &["no"]).await;
        assert_eq!((refused, unread(&client).await.len()), (Err(ErrorKind::Blocked), 2));
        ask(&client, move |it| it.done(&Request::Unblock { person: of_alice })).await;
        for row in &rows {
            let with = row.conversation;
            let numbers = answer(&client, row.number, &["one", "two"]).await.unwrap();
            let history = Request::History { with, after: 0, limit: 256 };
            let (history, _) = ask(&client, move |it| it.texts(&history)).await;
            let sent = history.iter().filter(|row| row.is_sent).map(|row| row.number);
            assert_eq!(sent.collect::<Vec<_>>(), numbers);
            assert_eq!((numbers.len(), history.len()), (2, 3), "the text itself is there, too");
            assert!(!history[0].is_sent, "it comes before its answers");
            assert_eq!(answer(&client, row.number, &["again"]).await, Ok(Vec::new()));
        }
        assert!(unread(&client).await.is_empty());
        for number in [0, u64::MAX] {
            assert_eq!(answer(&client, number, &["to no text"]).await, Ok(Vec::new()));
        }
        ask(&client, |it| it.sync(1)).await;
    })
    .await;
    assert_eq!(status(&mut bob.engine).unwrap().unsent, 0);
    alice.sync(&world).await;
    assert_eq!(texts(&mut alice), ["one", "two", "one", "two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_see_teams_and_their_members() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let carol = world.member("carol").await;
    let team = group(&mut [&mut alice, &mut bob], &[&carol]);
    let (id, owner, of_bob) = (*team.id(), alice.identity, bob.identity);
    write(&mut alice, &id, "before");
    alice.sync(&world).await;
    let without_bob = change(&alice, Some("m1"), None);
    let teams = async |client: &Caller| match ask(client, |it| it.call(&Request::Teams {})).await {
        Reply::Teams(page) => page.rows,
        _ => panic!("another reply"),
    };
    let home = bob.home.clone();
    serving(&world, &mut bob, async move |client| {
        let status = ask(&client, |it| it.call(&Request::Status {})).await;
        let Reply::Status(status) = status else { panic!("another reply") };
        assert_eq!((status.identity, status.device), (of_bob, 1));
        ask(&client, |it| it.sync(1)).await;
        let rows = teams(&client).await;
        let row = &rows[0];
        assert_eq!((rows.len(), row.team, &*row.name), (1, Conversation::Group(id), "team"));
        assert_eq!((row.epoch, row.owner, row.members, row.is_member), (1, owner, 3, true));
        for (after, expected) in [(0, &["m0", "m1", "m2"][..]), (2, &["m2"]), (3, &[])] {
            let request = Request::Members { team: Conversation::Group(id), after };
            let members = ask(&client, move |it| it.call(&request)).await;
            let Reply::Members(page) = members else { panic!("another reply") };
            assert_eq!(page.rows.iter().map(|it| &*it.name).collect::<Vec<_>>(), expected);
            assert!(page.rows.iter().all(|it| !it.is_admin && it.number > after));
            assert_eq!(page.next, None);
        }
        let lock = home.lock().unwrap();
        home.groups().import(without_bob.as_bytes(), None, |_| true, &lock).unwrap();
        // A text of before cannot be answered any more, and stays in the inbox.
        let number = unread(&client).await[0].number;
        assert_eq!(answer(&client, number, &["late"]).await, Err(ErrorKind::NotMember));
        assert_eq!(unread(&client).await.len(), 1);
        let said = client.clone();
        let said = spawn_blocking(move || said.say(&Conversation::Group(id), &["late"]));
        let Err(CallError::Failed(error)) = said.await.unwrap() else { panic!("not refused") };
        assert_eq!(error.kind, ErrorKind::NotMember);
        let row = teams(&client).await.remove(0);
        assert_eq!((row.epoch, row.members, row.is_member), (2, 2, false));
        let of_a_person = Request::Members { team: Conversation::Person(owner), after: 0 };
        let refused = spawn_blocking(move || client.call(&of_a_person)).await.unwrap();
        assert!(matches!(refused, Err(CallError::Failed(it)) if it.kind == ErrorKind::NoGroup));
    })
    .await;
}
