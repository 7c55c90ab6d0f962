//! Names of groups by their ids.

use std::collections::HashMap;

use endseal_keyring::roster::GroupId;
use endseal_node::Home;

/// The groups whose rosters are known here.
pub(crate) struct GroupNames(HashMap<GroupId, String>);

impl GroupNames {
    /// Reads the names; groups whose roster cannot be read have none.
    pub(crate) fn load(home: &Home) -> Self {
        let names = home.groups().list().unwrap_or_default();
        let id = |name| Some((*home.groups().current(name).ok()?.id(), name.to_string()));
        Self(names.iter().filter_map(id).collect())
    }

    /// The name of a group, or else its id.
    pub(crate) fn called(&self, id: &GroupId) -> String {
        self.0.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}
