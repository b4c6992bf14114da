//! The settings for the keys of roles. A caller with a role's key may do what the role may do.

use std::collections::BTreeSet;

use super::{SecretSetting, SettingReader};
use crate::http::keys::{Role, RoleKeys};

/// Keys with fewer characters cause a warning, because they can be guessed.
pub const KEY_CHARS_ENOUGH: usize = 16;

/// The key of each role, if it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleKeySettings {
    /// `FAIRGATE_PROMOTER_KEY`: a caller with this key may change and read everything, but scans no
    /// tickets. Default none.
    pub promoter: Option<SecretSetting>,
    /// `FAIRGATE_VIEWER_KEY`: a caller with this key may read reports and settings. Default none.
    pub viewer: Option<SecretSetting>,
    /// `FAIRGATE_DOOR_KEY`: a caller with this key may scan tickets. Default none.
    pub door: Option<SecretSetting>,
}

impl RoleKeySettings {
    /// The knobs of these settings.
    pub const KNOBS: [&'static str; 3] = ["promoter_key", "viewer_key", "door_key"];

    /// Reads the keys. It is a fault if two roles have the same key.
    pub fn read(reader: &mut SettingReader) -> Self {
        let keys = Self {
            promoter: reader.secret_setting("promoter_key"),
            viewer: reader.secret_setting("viewer_key"),
            door: reader.secret_setting("door_key"),
        };
        let set: Vec<&str> = keys
            .keys_by_role()
            .map(|(_, _, key)| key.0.as_str())
            .collect();
        if set.iter().collect::<BTreeSet<_>>().len() < set.len() {
            reader.fault("two of FAIRGATE_PROMOTER_KEY, FAIRGATE_VIEWER_KEY and FAIRGATE_DOOR_KEY are the same; give each role its own key");
        }
        keys
    }

    fn keys_by_role(&self) -> impl Iterator<Item = (Role, &'static str, &SecretSetting)> {
        let keys = [
            (Role::Promoter, "FAIRGATE_PROMOTER_KEY", &self.promoter),
            (Role::Viewer, "FAIRGATE_VIEWER_KEY", &self.viewer),
            (Role::Door, "FAIRGATE_DOOR_KEY", &self.door),
        ];
        keys.into_iter()
            .filter_map(|(role, name, key)| key.as_ref().map(|key| (role, name, key)))
    }

    /// Returns the digests of the keys. The keys of callers are compared with these digests.
    #[must_use]
    pub fn roles(&self) -> RoleKeys {
        let mut keys = RoleKeys::default();
        for (role, _, key) in self.keys_by_role() {
            keys.add(role, &key.0);
        }
        keys
    }

    /// Lists the warnings for `/readyz`.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.promoter.is_none() {
            warnings.push(
                "no promoter key is set, so nothing can be changed: set FAIRGATE_PROMOTER_KEY"
                    .to_owned(),
            );
        }
        let short = self
            .keys_by_role()
            .filter(|(_, _, key)| key.0.len() < KEY_CHARS_ENOUGH);
        warnings.extend(short.map(|(_, name, _)| {
            format!("{name} is short enough to be guessed: give it {KEY_CHARS_ENOUGH} characters or more")
        }));
        warnings
    }
}
