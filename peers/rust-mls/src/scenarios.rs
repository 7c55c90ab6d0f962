//! Scenarios between group members of both libraries.

use crate::member::{Member, Reason, Seen};

type Members = [Box<dyn Member>];

/// The first member creates the group, each new member adds the next one, and all write after every
/// change.
pub(crate) fn grow(members: &mut Members) -> Result<(), Reason> {
    members[0].create()?;
    for next in 1..members.len() {
        let key_package = members[next].key_package()?;
        // The member that joined last adds the next one.
        let (commit, welcome) = members[next - 1].add(&key_package)?;
        deliver_commit(&mut members[..next], next - 1, &commit)?;
        members[next].join(&welcome)?;
        agree(&members[..=next])?;
        speak(&mut members[..=next])?;
    }
    Ok(())
}

/// Each member replaces its keys, one after the other.
pub(crate) fn update(members: &mut Members) -> Result<(), Reason> {
    for by in 0..members.len() {
        let commit = members[by].update()?;
        deliver_commit(members, by, &commit)?;
        agree(members)?;
        speak(members)?;
    }
    Ok(())
}

/// Messages that arrive out of order, and after a commit.
pub(crate) fn reorder(members: &mut Members) -> Result<(), Reason> {
    let last = members.len() - 1;
    for sender in 0..members.len() {
        let texts: Vec<Vec<u8>> = (0..50_u8).map(|i| vec![i; usize::from(i) * 20]).collect();
        let sealed = texts.iter().map(|text| members[sender].seal(text));
        let sealed: Vec<Vec<u8>> = sealed.collect::<Result<_, _>>()?;
        let by = if sender == last { 0 } else { last };
        let commit = members[by].update()?;
        deliver_commit(members, by, &commit)?;
        let address = members[sender].address();
        for (text, message) in texts.iter().zip(&sealed).rev() {
            for receiver in (0..members.len()).filter(|it| *it != sender) {
                let seen = members[receiver].open(message)?;
                expect(&seen, &Seen::Text { sender: address, text: text.clone() })?;
                if members[receiver].open(message).is_ok() {
                    return Err(format!("{receiver} opened a message twice"));
                }
            }
        }
    }
    Ok(())
}

/// The last member removes the first one, which learns of it and cannot read anything more.
pub(crate) fn remove(members: &mut Members) -> Result<(), Reason> {
    let last = members.len() - 1;
    let leaving = members[0].address();
    let commit = members[last].remove(leaving)?;
    members[last].accept()?;
    for (i, member) in members[..last].iter_mut().enumerate() {
        match (i, member.open(&commit)?) {
            (0, Seen::Removed) => {}
            (1.., Seen::Change { members }) if !members.contains(&leaving) => {}
            (_, seen) => return Err(format!("{i} saw {seen:?}")),
        }
    }
    let message = members[1].seal(b"without you")?;
    if members[0].open(&message).is_ok() {
        return Err("who was removed still reads".to_owned());
    }
    agree(&members[1..])?;
    speak(&mut members[1..])
}

/// After [`remove`]: one member proposes that the last one leaves, and the other one commits the
/// proposal.
pub(crate) fn propose(members: &mut Members) -> Result<(), Reason> {
    let last = members.len() - 1;
    let leaving = members[last].address();
    for (proposer, committer) in [(1, 2), (2, 1)] {
        let Some(proposal) = members[proposer].propose_removal(leaving) else { continue };
        let proposal = proposal?;
        for receiver in (1..=last).filter(|it| *it != proposer) {
            expect(&members[receiver].open(&proposal)?, &Seen::Proposal)?;
        }
        // Messages must wait for the commit.
        if members[committer].seal(b"too early").is_ok() {
            return Err(format!("{committer} has overlooked a proposal"));
        }
        let commit = members[committer].update()?;
        members[committer].accept()?;
        expect(&members[last].open(&commit)?, &Seen::Removed)?;
        let seen = members[proposer].open(&commit)?;
        expect(&seen, &Seen::Change { members: members[committer].members() })?;
        agree(&members[1..last])?;
        return speak(&mut members[1..last]);
    }
    Ok(())
}

/// A damaged message is refused by all.
pub(crate) fn damage(members: &mut Members) -> Result<(), Reason> {
    for sender in 0..members.len() {
        for at in 1..8 {
            let mut message = members[sender].seal(b"whole")?;
            let place = message.len() - at * 17;
            message[place] ^= 1;
            for receiver in (0..members.len()).filter(|it| *it != sender) {
                if members[receiver].open(&message).is_ok() {
                    return Err(format!("{receiver} opened a damaged message"));
                }
            }
        }
    }
    speak(members)
}

fn deliver_commit(members: &mut Members, by: usize, commit: &[u8]) -> Result<(), Reason> {
    members[by].accept()?;
    for (i, member) in members.iter_mut().enumerate().filter(|(i, _)| *i != by) {
        match member.open(commit)? {
            Seen::Change { .. } => {}
            seen => return Err(format!("{i} saw {seen:?} for a commit")),
        }
    }
    Ok(())
}

fn speak(members: &mut Members) -> Result<(), Reason> {
    for sender in 0..members.len() {
        let text = format!("from {sender}").into_bytes();
        let message = members[sender].seal(&text)?;
        let address = members[sender].address();
        for receiver in (0..members.len()).filter(|it| *it != sender) {
            let seen = members[receiver].open(&message)?;
            expect(&seen, &Seen::Text { sender: address, text: text.clone() })?;
        }
    }
    Ok(())
}

fn agree(members: &Members) -> Result<(), Reason> {
    let (all, epoch) = (members[0].members(), members[0].epoch());
    for member in members {
        if member.members() != all || member.epoch() != epoch || all.len() < members.len() {
            return Err(format!("no agreement on members or epoch {epoch}"));
        }
    }
    Ok(())
}

fn expect(seen: &Seen, expected: &Seen) -> Result<(), Reason> {
    if seen == expected { Ok(()) } else { Err(format!("{seen:?} instead of {expected:?}")) }
}
