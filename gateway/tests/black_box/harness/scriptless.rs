//! Uses a page without asking its scripts: clicks, reads and moves the focus over the browser's own
//! protocol.

use chromiumoxide::cdp::browser_protocol::dom::{
    FocusParams, GetBoxModelParams, GetDocumentParams, GetOuterHtmlParams, NodeId,
    QuerySelectorParams, ScrollIntoViewIfNeededParams,
};
use chromiumoxide::cdp::browser_protocol::input::InsertTextParams;

use super::{Browser, until};

impl Browser {
    /// Presses an element as [`Self::click`] does, without asking the page's scripts for anything.
    pub async fn press(&self, selector: &str) {
        let middle = until(&format!("{selector} can be pressed"), async || {
            let node = self.node(selector).await?;
            self.page
                .execute(
                    ScrollIntoViewIfNeededParams::builder()
                        .node_id(node)
                        .build(),
                )
                .await
                .ok()?;
            let model = self
                .page
                .execute(GetBoxModelParams::builder().node_id(node).build())
                .await
                .ok()?;
            let corners = model.result.model.content.inner();
            Some((
                (corners[0] + corners[4]) / 2.0,
                (corners[1] + corners[5]) / 2.0,
            ))
        })
        .await;
        self.click_at(middle).await;
    }

    /// Loads the page again, and waits until it is there.
    pub async fn reload(&self) {
        self.page.reload().await.expect("the page loads again");
    }

    /// Types into a field, without asking the page's scripts.
    pub async fn enter(&self, selector: &str, text: &str) {
        self.press(selector).await;
        let typed = self.page.execute(InsertTextParams::new(text)).await;
        typed.expect("typing");
    }

    /// Moves the focus to an element as a screen reader does, whose keys the page does not see.
    ///
    /// # Panics
    /// If there is no such element, or it cannot have the focus.
    pub async fn focus_unseen(&self, selector: &str) {
        let node = self.node(selector).await.expect("an element");
        let focus = FocusParams::builder().node_id(node).build();
        self.page.execute(focus).await.expect("the focus moves");
    }

    /// Waits until `fits` returns true for an element's inner HTML, without asking the page's
    /// scripts.
    pub async fn shows(&self, selector: &str, fits: impl Fn(&str) -> bool) {
        until(&format!("{selector} shows what it should"), async || {
            let node = self.node(selector).await?;
            let html = self
                .page
                .execute(GetOuterHtmlParams::builder().node_id(node).build())
                .await
                .ok()?;
            let inner = html
                .result
                .outer_html
                .split_once('>')?
                .1
                .rsplit_once("</")?
                .0
                .trim()
                .to_owned();
            fits(&inner).then_some(())
        })
        .await;
    }

    /// Returns whether there is such an element, without asking the page's scripts.
    pub async fn has(&self, selector: &str) -> bool {
        self.node(selector).await.is_some()
    }

    async fn node(&self, selector: &str) -> Option<NodeId> {
        let document = self.page.execute(GetDocumentParams::default()).await.ok()?;
        let asked = QuerySelectorParams::new(document.result.root.node_id, selector);
        let node = self.page.execute(asked).await.ok()?.result.node_id;
        // The protocol's node id 0 means that there is no such element.
        (*node.inner() != 0).then_some(node)
    }
}
