//! Works out from the output of `openssl speed` what TLS costs a proxy. A new connection needs one
//! signature, one new key and one key exchange. Each byte is encrypted once.

use std::process::Command;

use super::figures::TlsCosts;

/// Measures with `openssl`. Returns `None` if the machine has no `openssl`, or its output has an
/// unknown form.
pub fn tls_costs() -> Option<TlsCosts> {
    let speed = |args: &[&str]| {
        let mut command = Command::new("openssl");
        let command = command.args(["speed", "-mr", "-seconds", "1"]).args(args);
        let output = command.output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let signature_s = seconds_of(&speed(&["ecdsap256"])?, "+F")?;
    let exchange_s = seconds_of(&speed(&["ecdhx25519"])?, "+F")?;
    let bytes_per_s = largest(&speed(&["-bytes", "16384", "-evp", "aes-128-gcm"])?, "+F")?;
    Some(TlsCosts {
        // The proxy makes a key of its own for the exchange, which costs as much as the exchange.
        handshake_ms: (signature_s + 2.0 * exchange_s) * 1e3,
        megabyte_ms: 1e9 / bytes_per_s,
    })
}

/// Returns the seconds of one operation from a line such as `+F4:3:256:0.000025:0.000080`: the
/// first figure after the number of bits.
fn seconds_of(output: &str, kind: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.starts_with(kind))?;
    let figure: f64 = line.split(':').nth(3)?.trim().parse().ok()?;
    // Newer versions of `openssl` print operations a second instead.
    Some(if figure > 1.0 { 1.0 / figure } else { figure }).filter(|seconds| *seconds > 0.0)
}

/// Returns the last figure of a line such as `+F:22:AES-128-GCM:5184307370.33`.
fn largest(output: &str, kind: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.starts_with(kind))?;
    line.rsplit(':')
        .next()?
        .trim()
        .parse()
        .ok()
        .filter(|figure| *figure > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_read_in_the_form_of_the_program() {
        let signature = seconds_of("+F4:3:256:0.000025:0.000080\n", "+F").expect("seconds");
        assert!((signature - 25e-6).abs() < 1e-12);
        let signature = seconds_of("+F4:3:256:40000.0:12500.0\n", "+F").expect("seconds");
        assert!((signature - 25e-6).abs() < 1e-12);
        assert_eq!(seconds_of("nothing", "+F"), None);
        let bytes = largest("+H:16384\n+F:22:AES-128-GCM:5184307370.33\n", "+F");
        assert_eq!(bytes, Some(5_184_307_370.33));
    }
}
