//! Checks the keys of roles. A key is compared by its digest in constant time and never logged.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Problem, ProblemCode};

/// The role of a key: what its owner may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Scan tickets, nothing else.
    Door,
    /// Read reports and settings.
    Viewer,
    /// Change everything, and read everything. A promoter scans no tickets.
    Promoter,
}

impl Role {
    /// Returns the role's name, as audit rows show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Door => "door",
            Self::Viewer => "viewer",
            Self::Promoter => "promoter",
        }
    }

    /// Returns whether a key of this role is enough for a call that needs the role `needed`. A
    /// promoter's key is also enough for calls that need a viewer's. A scan counts only from a
    /// door, so that nobody enters by a key that is used elsewhere.
    #[must_use]
    pub fn opens(self, needed: Self) -> bool {
        self == needed || (self == Self::Promoter && needed == Self::Viewer)
    }
}

/// The keys this process knows.
#[derive(Clone, Default)]
pub struct RoleKeys {
    digests: Vec<(Role, [u8; 32])>,
}

impl RoleKeys {
    /// Adds a key. Only its digest is stored.
    pub fn add(&mut self, role: Role, key: &str) {
        self.digests.push((role, Sha256::digest(key).into()));
    }

    /// Returns the role of the request's Bearer key, if the key is enough for a call that needs the
    /// role `needed`.
    ///
    /// # Errors
    /// 401 `key_required` without a key, 401 `key_invalid` for an unknown key, 403 `key_role` for a
    /// key of another role.
    pub fn require_role(&self, headers: &HeaderMap, needed: Role) -> Result<Role, Problem> {
        let key = bearer(headers).ok_or_else(|| {
            Problem::new(
                ProblemCode::KeyRequired,
                format!("This address needs a {} key as \"Authorization: Bearer …\". Nothing was changed.", needed.name()),
            )
        })?;
        let digest: [u8; 32] = Sha256::digest(key).into();
        let mut found = None;
        for (role, known) in &self.digests {
            if bool::from(known.ct_eq(&digest)) {
                found = found.max(Some(*role));
            }
        }
        match found {
            Some(role) if role.opens(needed) => Ok(role),
            Some(role) => Err(Problem::new(
                ProblemCode::KeyRole,
                format!(
                    "The key is a {} key; this address needs a {} key. Nothing was changed.",
                    role.name(),
                    needed.name()
                ),
            )),
            None => Err(Problem::new(
                ProblemCode::KeyInvalid,
                "The key is not one of this installation's keys. Nothing was changed. Check the key that you send; operators set keys as FAIRGATE_PROMOTER_KEY, FAIRGATE_VIEWER_KEY and FAIRGATE_DOOR_KEY.",
            )),
        }
    }
}

/// The state of routes that need a key.
pub trait KeyedRoutes {
    /// Returns this process's keys. The keys of callers are compared with them.
    fn role_keys(&self) -> &RoleKeys;
}

/// The caller has a promoter's key. A handler that takes this argument before the body checks the
/// key before it reads the body.
#[derive(Debug, Clone, Copy)]
pub struct PromoterCaller;

impl<S: KeyedRoutes + Sync> FromRequestParts<S> for PromoterCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let keys = state.role_keys();
        keys.require_role(&parts.headers, Role::Promoter)?;
        Ok(Self)
    }
}

/// The caller has a door's key. A handler that takes this argument before the body checks the key
/// before it reads the body.
#[derive(Debug, Clone, Copy)]
pub struct DoorCaller;

impl<S: KeyedRoutes + Sync> FromRequestParts<S> for DoorCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let keys = state.role_keys();
        keys.require_role(&parts.headers, Role::Door)?;
        Ok(Self)
    }
}

/// Returns the Bearer credential of a request.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    let credential = credential.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty()).then_some(credential)
}
