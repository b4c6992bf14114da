//! Leaves the line, or is thrown out of it by the promoter: while waiting, when called, or with a
//! pass.

use hyper::Method;
use serde_json::json;

use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::LoadHttpCall;
use crate::swarm::plan::PlannedRevocation;
use crate::swarm::promoter;

impl Visitor {
    /// Ends the wait before the turn: the promoter ends the place, or the visitor leaves.
    pub(super) async fn stop_waiting<T>(&mut self) -> VisitorResult<T> {
        if self.plan.revoked.is_some() {
            return self.be_revoked().await;
        }
        self.leave().await
    }

    /// Lets some visitors go who were called and have not claimed.
    pub(super) async fn go_when_called(&mut self) -> VisitorResult<()> {
        if self.plan.revoked == Some(PlannedRevocation::BeforeTheClaim) {
            return self.be_revoked().await;
        }
        if self.rolls(self.stage.scenario.behaviour.leave_called) {
            return self.leave().await;
        }
        Ok(())
    }

    /// Lets some visitors go who have just got their pass.
    pub(super) async fn go_when_inside(&mut self) -> VisitorResult<()> {
        if self.plan.revoked == Some(PlannedRevocation::Inside) {
            return self.be_revoked().await;
        }
        if self.rolls(self.stage.scenario.behaviour.leave_inside) {
            return self.leave().await;
        }
        Ok(())
    }

    async fn leave<T>(&mut self) -> VisitorResult<T> {
        let path = self.stage.room_path("place");
        let call = LoadHttpCall::new(Method::DELETE, path).bearer(&self.place);
        self.call("leave", &call, 0.0, |_| fields(json!({})))
            .await?;
        Err(VisitorOutcome::Left)
    }

    /// Has the promoter end the visitor's place, and then tries to claim a pass with it.
    async fn be_revoked<T>(&mut self) -> VisitorResult<T> {
        let (stage, visitor) = (&self.stage, self.plan.visitor);
        promoter::revoke(stage, visitor, &self.holder)
            .await
            .map_err(VisitorOutcome::Failed)?;
        self.at_ms = self.stage.clock.now_ms();
        let path = self.stage.room_path("pass");
        let call = LoadHttpCall::new(Method::POST, path).bearer(&self.place);
        let rank = self.rank;
        let answer = self
            .call("claim", &call, 0.0, |_| fields(json!({"rank": rank})))
            .await?;
        if answer.is_ok() {
            let why = "a claim was answered with a pass after the place was revoked";
            return Err(VisitorOutcome::Failed(why.to_owned()));
        }
        Err(VisitorOutcome::Revoked)
    }
}
