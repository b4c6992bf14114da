//! Says which classes and seats are sold if nobody gave them.

use fairgate_model::counted::counted;
use fairgate_model::timetables::settings::RailFile;

/// Returns a note if the classes or the carriages are the built-in ones. A feed has neither, so
/// every train would be sold with seats that it may not have.
pub fn note(rail: &RailFile) -> Option<String> {
    let label = |key: &str| {
        let class = rail.class.iter().find(|class| class.key == key);
        class.map_or(key.to_owned(), |class| class.label.clone())
    };
    let missing = match (rail.built_in_classes, rail.built_in_stock) {
        (false, false) => return None,
        (true, false) => {
            let labels: Vec<&str> = rail.class.iter().map(|of| of.label.as_str()).collect();
            return Some(format!(
                "no [[class]] was given, so the built-in classes are sold: {}; give your own in \
                 the --rail file",
                labels.join(", ")
            ));
        }
        (false, true) => "[[stock]]",
        (true, true) => "[[class]] and no [[stock]]",
    };
    let stock = rail.stock.first()?;
    let carriages: u32 = stock.carriages.iter().map(|carriage| carriage.count).sum();
    let seats = stock
        .carriages
        .iter()
        .map(|carriage| format!("{} in {}", carriage.capacity(), label(&carriage.class)));
    Some(format!(
        "no {missing} was given, so every train is sold with the built-in {}, which have {}: {}; \
         to sell your own, write them in a file and name it with --rail",
        counted(carriages, "carriage", "carriages"),
        counted(stock.seat_count(), "seat", "seats"),
        seats.collect::<Vec<_>>().join(", ")
    ))
}
