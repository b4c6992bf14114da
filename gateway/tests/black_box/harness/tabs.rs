//! Does with tabs what people and phones do with them: opens a second one, changes between the
//! two, closes one, and stops the scripts of a page that nobody sees.

use chromiumoxide::cdp::browser_protocol::emulation::SetFocusEmulationEnabledParams;
use chromiumoxide::cdp::browser_protocol::page::{
    SetWebLifecycleStateParams, SetWebLifecycleStateState,
};

use super::Browser;

impl Browser {
    /// Opens a page in another tab, which is then in front. All calls use the tab in front.
    ///
    /// # Panics
    /// If there are two tabs already.
    pub async fn open_tab(&mut self, address: &str) {
        assert!(self.behind.is_none(), "there are two tabs already");
        let tab = self.chromium.new_page("about:blank").await;
        let before = std::mem::replace(&mut self.page, tab.expect("a tab"));
        self.behind = Some(before);
        self.prepare_tab().await;
        self.to_front().await;
        self.go(address).await;
    }

    /// Brings the tab behind to the front.
    ///
    /// # Panics
    /// If there is only one tab.
    pub async fn change_tab(&mut self) {
        let behind = self.behind.as_mut().expect("another tab");
        std::mem::swap(&mut self.page, behind);
        self.to_front().await;
    }

    /// Closes the tab in front. The other one is then in front.
    ///
    /// # Panics
    /// If there is only one tab.
    pub async fn close_tab(&mut self) {
        let behind = self.behind.take().expect("another tab");
        let closed = std::mem::replace(&mut self.page, behind);
        closed.close().await.expect("the tab closes");
        self.to_front().await;
    }

    /// Hides the page and stops its scripts, as a phone does with a page behind another app.
    pub async fn fall_asleep(&self) {
        self.set_state(SetWebLifecycleStateState::Frozen).await;
    }

    /// Lets the scripts of the page go on, and shows it again.
    pub async fn wake_up(&self) {
        self.set_state(SetWebLifecycleStateState::Active).await;
        // A browser without a window shows the page again only as one that has the focus.
        let focused = SetFocusEmulationEnabledParams::new(true);
        let shown = self.page.execute(focused).await;
        shown.expect("the page is shown");
    }

    async fn set_state(&self, state: SetWebLifecycleStateState) {
        let set = self.page.execute(SetWebLifecycleStateParams::new(state));
        set.await.expect("a known state");
    }

    async fn to_front(&self) {
        let shown = self.page.bring_to_front().await;
        shown.expect("the tab comes to the front");
    }
}
