//! Finds variables that look like settings but are not, for example a setting with a typing error.
//! If such a variable were ignored, the mistake would be noticed only in the middle of a sale.

/// The prefix of every variable of this project.
const PREFIX: &str = "FAIRGATE_";

/// Every variable that a program or a test of this project reads, without the prefix. All processes
/// of an installation may share one environment, so each program accepts the variables of the
/// others. A test of the workspace checks that no variable is missing.
const VARIABLES: &[&str] = &[
    "API_KEYS",
    "BEFORE",
    "BOOKING_BIN",
    "BOOKING_URL",
    "CHAINS",
    "CHROMIUM",
    "COUNTER_FILE",
    "CRASH_ROUNDS",
    "DATA",
    "DATABASE_URL",
    "DOOR_KEY",
    "DRAIN_NOTICE_S",
    "DRAIN_S",
    "DRAW",
    "DRILL_ORDERS",
    "DUMPS",
    "FORWARDING_HEADER",
    "GATEWAY_BIN",
    "GUARD_FAIL",
    "GUARD_LISTEN",
    "GUARD_ORIGIN",
    "GUARD_ROOM",
    "GUARD_URL",
    "HCAPTCHA_SECRET",
    "HCAPTCHA_SITE_KEY",
    "HCAPTCHA_URL",
    "HISTORIES",
    "HISTORIES_SEED",
    "INTERNAL_KEY",
    "JOINS_BURST",
    "JOINS_PER_S",
    "LATE_ROWS",
    "LISTEN",
    "LOG",
    "LOG_FORMAT",
    "NOTHING_SKIPPED",
    "OPS_LISTEN",
    "ORIGINS",
    "PAYMENTS",
    "PICTURES",
    "PROGRAMME_CHAINS",
    "PROMOTER_KEY",
    "PUBLIC_URL",
    "REAL_DATA",
    "REDIS_URL",
    "ROLL",
    "SEARCHES_BURST",
    "SEARCHES_PER_S",
    "SECRET",
    "SEEDS",
    "SERVERS_ORPHANS",
    "SOCKETS",
    "STORM",
    "STRIPE_PUBLISHABLE_KEY",
    "STRIPE_READ_BACK_S",
    "STRIPE_SECRET_KEY",
    "STRIPE_URL",
    "STRIPE_WEBHOOK_SECRET",
    "TARGET",
    "TRUSTED_HOPS",
    "TURNSTILE_SECRET",
    "TURNSTILE_SITE_KEY",
    "TURNSTILE_URL",
    "VIEWER_KEY",
    "WHOLE_TURNS",
];

/// Returns the fault of a variable that begins with the prefix and is not a setting. Returns `None`
/// for any other variable.
pub(super) fn variable_fault(variable: &str) -> Option<String> {
    let name = variable.strip_prefix(PREFIX)?;
    if VARIABLES.contains(&name) || is_of_kubernetes(name) {
        return None;
    }
    let nearest = VARIABLES
        .iter()
        .min_by_key(|known| strsim::damerau_levenshtein(known, name))?;
    Some(format!(
        "{variable} is not a setting; the nearest one is {PREFIX}{nearest}. Correct the name, or remove the variable"
    ))
}

/// Returns whether Kubernetes may have set this variable. Kubernetes sets such variables for each
/// service whose name begins with "fairgate".
fn is_of_kubernetes(name: &str) -> bool {
    let is_port = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    name.ends_with("SERVICE_HOST")
        || name.ends_with("SERVICE_PORT")
        || name.contains("SERVICE_PORT_")
        || name == "PORT"
        || name.ends_with("_PORT")
        || name
            .split_once("PORT_")
            .is_some_and(|(_, rest)| is_port(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_told_with_the_nearest_setting() {
        for (wrong, right) in [
            ("FAIRGATE_TRUSTED_HOP", "FAIRGATE_TRUSTED_HOPS"),
            ("FAIRGATE_REDISURL", "FAIRGATE_REDIS_URL"),
            ("FAIRGATE_PROMOTOR_KEY", "FAIRGATE_PROMOTER_KEY"),
        ] {
            let fault = variable_fault(wrong).expect("a fault");
            assert!(fault.contains(right), "{fault}");
        }
    }

    #[test]
    fn settings_and_what_kubernetes_sets_are_no_faults() {
        for variable in [
            "FAIRGATE_LISTEN",
            "FAIRGATE_SEEDS",
            "FAIRGATE_SERVICE_HOST",
            "FAIRGATE_SERVICE_PORT",
            "FAIRGATE_SERVICE_PORT_HTTP",
            "FAIRGATE_PORT",
            "FAIRGATE_PORT_8080_TCP",
            "FAIRGATE_PORT_8080_TCP_ADDR",
            "FAIRGATE_GATEWAY_SERVICE_HOST",
            "FAIRGATE_GATEWAY_PORT",
            "FAIRGATE_GATEWAY_PORT_80_TCP_PROTO",
            "HOME",
        ] {
            assert_eq!(variable_fault(variable), None, "{variable}");
        }
    }
}
