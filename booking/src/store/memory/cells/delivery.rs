//! Carries out rows of the seat outbox on the cells of a show.

use fairgate_model::grid::CellState;
use fairgate_model::holds::cells_of;

use super::ShowCells;
use crate::store::{SeatOutboxAction, SeatOutboxRow};

impl ShowCells {
    /// Carries out new rows up to a gap. Returns the number of the newest row that was ever carried
    /// out.
    pub(in crate::store::memory) fn deliver(&mut self, rows: &[SeatOutboxRow]) -> u64 {
        for row in rows {
            if row.seq == self.cursor + 1 {
                self.cursor = row.seq;
                self.carry_out(row);
            }
        }
        self.cursor
    }

    fn carry_out(&mut self, row: &SeatOutboxRow) {
        // Rows of a train that got other stops meanwhile belong to a picture that follows.
        let mut items = row.items.clone();
        items.retain(|item| item.legs.end <= self.grid.legs);
        let cells = cells_of(&items, self.grid);
        match row.kind {
            SeatOutboxAction::Sell => {
                let hold = self.table.remove(&row.hold);
                for cell in &cells {
                    self.locks.remove(cell);
                    self.kept.remove(cell);
                }
                self.picture.set_cells(cells, CellState::Sold);
                // Seats of the hold that the order did not buy are given back.
                if let Some(hold) = hold {
                    self.unlock(&hold.cells(self.grid), &row.hold);
                }
                self.table.note_bought(row.visitor, &row.items);
            }
            SeatOutboxAction::Free => {
                let had_hold = self.table.remove(&row.hold).is_some();
                // If an exchange keeps all cells of these seats, the row has no cells. It only
                // corrects the visitor's count, so that the seats are counted once.
                let only_counts = cells.is_empty();
                let freed: Vec<u32> = cells
                    .into_iter()
                    .filter(|cell| match self.locks.get(cell) {
                        Some(lock) => *lock == row.hold,
                        None => self.picture.state(*cell) == CellState::Sold,
                    })
                    .collect();
                // Only sold cells were bought. If the hold lapsed before its order expired, no cell
                // was sold, and the count of bought seats stays.
                let was_sold = freed
                    .iter()
                    .any(|cell| self.picture.state(*cell) == CellState::Sold);
                if !had_hold && (was_sold || only_counts) {
                    self.table.note_given_back(row.visitor, &row.items);
                }
                for cell in &freed {
                    self.locks.remove(cell);
                }
                self.keep_or_free(freed);
            }
        }
    }
}
