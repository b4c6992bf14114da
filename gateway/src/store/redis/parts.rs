//! Builds the parts of the store and connects them.

use std::sync::Arc;

use fairgate_base::clock::Clock;
use fairgate_redis::Redis;

use super::baskets::BasketNotes;
use super::blocks::NumberBlocks;
use super::caller::RoomScriptRunner;
use super::claims::ClaimTransitions;
use super::codes::RoomCodes;
use super::condition::{ConditionWatch, StoreCondition};
use super::copier::LineCopier;
use super::joining::LineTransitions;
use super::keeper::{RoomKeeper, RoomKeeperLimits};
use super::lives::RoomLifeReader;
use super::networks::NetworkScripts;
use super::places::PlaceFinder;
use super::presence::RoomPresence;
use super::rebuild::RoomBuilder;
use super::rooms::OpenRooms;
use super::ticks::TickTransitions;
use super::visits::VisitScripts;
use super::wishes::WishKeeper;
use crate::ledger::RoomLedger;

/// The parts of a store. All handles on the store share them.
pub struct StoreParts {
    pub clock: Clock,
    pub rooms: Arc<OpenRooms>,
    pub condition: Arc<StoreCondition>,
    pub watch: ConditionWatch,
    pub lives: Arc<RoomLifeReader>,
    pub codes: Arc<RoomCodes>,
    pub keeper: RoomKeeper,
    pub line: LineTransitions,
    pub claims: ClaimTransitions,
    pub ticks: TickTransitions,
    pub networks: NetworkScripts,
    pub wishes: WishKeeper,
    pub baskets: BasketNotes,
    pub visits: VisitScripts,
    pub places: PlaceFinder,
    pub presence: RoomPresence,
}

impl StoreParts {
    /// Builds all parts over Redis and the ledger. `ledger_id` is the ledger's id in hex. `node` is
    /// this process's name among the nodes.
    pub fn build(
        redis: &Redis,
        ledger: RoomLedger,
        ledger_id: String,
        clock: Clock,
        node: String,
    ) -> Self {
        let (rooms, condition) = <(Arc<OpenRooms>, Arc<StoreCondition>)>::default();
        let scripts = RoomScriptRunner::new(redis.clone(), Arc::clone(&condition));
        let lives = RoomLifeReader::new(
            ledger.clone(),
            Arc::clone(&rooms),
            Arc::clone(&condition),
            clock.clone(),
        );
        let watch = ConditionWatch::new(
            redis.clone(),
            ledger_id,
            clock.clone(),
            Arc::clone(&condition),
        );
        let base = StoreDependencies {
            ledger,
            rooms,
            condition,
            scripts: Arc::new(scripts),
            lives: Arc::new(lives),
            clock,
            node,
        };
        base.into_parts(watch)
    }
}

/// What several parts of the store need.
struct StoreDependencies {
    ledger: RoomLedger,
    rooms: Arc<OpenRooms>,
    condition: Arc<StoreCondition>,
    scripts: Arc<RoomScriptRunner>,
    lives: Arc<RoomLifeReader>,
    clock: Clock,
    node: String,
}

impl StoreDependencies {
    fn into_parts(self, watch: ConditionWatch) -> StoreParts {
        let (scripts, lives) = (&self.scripts, &self.lives);
        let (blocks, copier) = (Arc::new(self.blocks()), Arc::new(self.copier()));
        let codes = Arc::new(self.codes());
        StoreParts {
            line: LineTransitions {
                ledger: self.ledger.clone(),
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
                blocks: Arc::clone(&blocks),
                copier: Arc::clone(&copier),
            },
            claims: ClaimTransitions {
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
            },
            ticks: TickTransitions {
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
                node: self.node.clone(),
            },
            networks: NetworkScripts {
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
            },
            wishes: WishKeeper {
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
            },
            baskets: BasketNotes {
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
            },
            visits: VisitScripts {
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
            },
            places: PlaceFinder {
                ledger: self.ledger.clone(),
                scripts: Arc::clone(scripts),
                lives: Arc::clone(lives),
            },
            presence: RoomPresence::new(Arc::clone(scripts), Arc::clone(lives)),
            keeper: self.keeper(blocks, copier, Arc::clone(&codes)),
            clock: self.clock,
            rooms: self.rooms,
            condition: self.condition,
            lives: self.lives,
            watch,
            codes,
        }
    }

    fn blocks(&self) -> NumberBlocks {
        NumberBlocks {
            ledger: self.ledger.clone(),
            scripts: Arc::clone(&self.scripts),
            rooms: Arc::clone(&self.rooms),
            lives: Arc::clone(&self.lives),
            condition: Arc::clone(&self.condition),
            clock: self.clock.clone(),
        }
    }

    fn copier(&self) -> LineCopier {
        LineCopier {
            ledger: self.ledger.clone(),
            scripts: Arc::clone(&self.scripts),
            node: self.node.clone(),
        }
    }

    fn codes(&self) -> RoomCodes {
        RoomCodes {
            ledger: self.ledger.clone(),
            scripts: Arc::clone(&self.scripts),
            lives: Arc::clone(&self.lives),
            clock: self.clock.clone(),
        }
    }

    fn keeper(
        &self,
        blocks: Arc<NumberBlocks>,
        copier: Arc<LineCopier>,
        codes: Arc<RoomCodes>,
    ) -> RoomKeeper {
        let builder = RoomBuilder {
            ledger: self.ledger.clone(),
            scripts: Arc::clone(&self.scripts),
            lives: Arc::clone(&self.lives),
            copier: Arc::clone(&copier),
            condition: Arc::clone(&self.condition),
            clock: self.clock.clone(),
            node: self.node.clone(),
        };
        RoomKeeper {
            rooms: Arc::clone(&self.rooms),
            lives: Arc::clone(&self.lives),
            scripts: Arc::clone(&self.scripts),
            blocks,
            copier,
            builder,
            codes,
            clock: self.clock.clone(),
            limits: RoomKeeperLimits::default(),
        }
    }
}
