//! Finds circles in a graph. A circle is a set of nodes in which every node reaches every other.

use std::collections::{BTreeMap, BTreeSet};

/// A graph of imports. It maps each node to the nodes from which it imports, each with the imported
/// names.
pub type NameGraph = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Returns the circles of two nodes or more. The largest circle comes first, and no circle is part
/// of another.
pub fn find_circles(graph: &NameGraph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|node| (node.as_str(), reached_from(graph, node)))
        .collect();
    let returns = |from: &str, to: &str| reached.get(to).is_some_and(|nodes| nodes.contains(from));
    let groups: BTreeSet<Vec<String>> = reached
        .iter()
        .map(|(from, nodes)| {
            nodes
                .iter()
                .filter(|to| returns(from, to))
                .map(ToString::to_string)
                .collect()
        })
        .collect();
    let mut circles: Vec<Vec<String>> =
        groups.into_iter().filter(|nodes| nodes.len() > 1).collect();
    circles.sort_by_key(|nodes| std::cmp::Reverse(nodes.len()));
    circles
}

fn reached_from<'a>(graph: &'a NameGraph, start: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut unread = vec![start];
    while let Some(node) = unread.pop() {
        for next in graph.get(node).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.as_str()) {
                unread.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> NameGraph {
        let mut graph = NameGraph::new();
        for (from, to) in edges {
            graph
                .entry((*from).to_owned())
                .or_default()
                .entry((*to).to_owned())
                .or_default();
        }
        graph
    }

    #[test]
    fn a_chain_is_no_circle() {
        assert!(find_circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    }

    #[test]
    fn the_largest_circle_comes_first_and_a_node_that_only_leads_to_a_circle_is_in_none() {
        let edges = [
            ("a", "b"),
            ("b", "a"),
            ("c", "d"),
            ("d", "e"),
            ("e", "c"),
            ("e", "a"),
            ("f", "c"),
        ];
        assert_eq!(
            find_circles(&graph(&edges)),
            [vec!["c", "d", "e"], vec!["a", "b"]]
        );
    }
}
