//! Prints figures about the structure of the workspace. The exit code is 1 if a printed figure does
//! not keep its bound.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use fairgate_house::figures::{FigureBound, HouseFigure, all_figures};
use fairgate_house::workspace::WorkspaceFiles;

/// Prints figures about how the workspace is built, each with its bound.
#[derive(Parser)]
#[command(name = "house")]
struct HouseCommand {
    /// The figure to print: circles, knots, types, letters, problems, routes, comments or
    /// functions. By default, all figures are printed.
    figure: Option<String>,
    /// Also print the items that make up each figure.
    #[arg(long)]
    detail: bool,
    /// The folder with the workspace's Cargo.toml.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

fn main() -> Result<ExitCode> {
    let command = HouseCommand::parse();
    let mut figures = all_figures(&WorkspaceFiles::read(&command.root)?)?;
    if let Some(key) = &command.figure {
        figures.retain(|figure| figure.key == key);
        figures
            .first()
            .with_context(|| format!("there is no figure \"{key}\""))?;
    }
    for figure in &figures {
        print_figure(figure, command.detail);
    }
    let all_held = figures.iter().all(HouseFigure::is_held);
    Ok(if all_held {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

#[expect(
    clippy::print_stdout,
    reason = "the figures are what this program is for"
)]
fn print_figure(figure: &HouseFigure, with_details: bool) {
    let limit = match figure.bound {
        FigureBound::AtMost(bound) => format!("at most {bound}"),
        FigureBound::AtLeast(bound) => format!("at least {bound}"),
    };
    let result = if figure.is_held() { "held" } else { "failed" };
    let value = (figure.value * 100.0).round() / 100.0;
    println!(
        "{result:<6}  {:<60}  {value:>8}  ({limit})",
        figure.measured
    );
    if with_details {
        for line in &figure.details {
            println!("        {line}");
        }
    }
}
