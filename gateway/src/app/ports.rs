//! Serves the ports of a gateway: the public one, that of the guarded shop, and the operators' own.

use std::time::Duration;

use axum::Router;
use fairgate_base::process::connections::ConnectionLimits;
use fairgate_base::process::serve::{self, EndSignals};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The ports of a gateway, each with its routes.
pub(super) struct ServedPorts {
    pub(super) public: (TcpListener, Router),
    pub(super) guard: Option<(TcpListener, Router)>,
    pub(super) operators: Option<(TcpListener, Router)>,
}

impl ServedPorts {
    /// Serves each port in a task of its own.
    pub(super) fn serve(
        self,
        connections: ConnectionLimits,
        end: &EndSignals,
        calls_drain_max: Duration,
    ) -> JoinSet<()> {
        let connections = if self.operators.is_some() {
            connections.without_operators()
        } else {
            connections
        };
        let (public_max, guard_max) = if self.guard.is_some() {
            connections.of_two_ports()
        } else {
            (connections, connections)
        };
        let ports = [
            Some((self.public, public_max)),
            self.guard.map(|guard| (guard, guard_max)),
            self.operators
                .map(|operators| (operators, ConnectionLimits::of_operators())),
        ];
        let mut serving = JoinSet::new();
        for ((listener, router), limits) in ports.into_iter().flatten() {
            let port = serve::run(listener, router, end.clone(), calls_drain_max, limits);
            serving.spawn(port);
        }
        serving
    }
}
