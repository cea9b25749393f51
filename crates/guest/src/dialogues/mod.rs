//! Dialogues with the guest's own kernel: the files that TCP's tests play with the model, played with Linux.
//!
//! Each dialogue has a pair of network namespaces to itself. The stack under test lives in one; the other end
//! of its cable is a packet socket, from which the peer's segments come. Time is virtual and stands still
//! while anything runs, so every step happens at the time of its line and every answer is seen when it leaves.

mod kernel;
mod observe;
mod stage;
mod warm_up;
mod wire;

use std::path::Path;

use daybreak_dialogue::{DialogueError, Script, play};
use serde_json::{Value, json};

use crate::error::GuestError;
use kernel::Kernel;

/// Attempts at a dialogue with given random draws of the congestion rule, which Linux cannot be given. Of seven
/// possible numbers, as with BBR, a given one then remains undrawn once in 19,000 dialogues.
const ATTEMPTS: usize = 64;

/// Plays every `*.dialogue` of a directory in the order of the names; one JSON object each.
pub fn run(directory: &Path, mut report: impl FnMut(u64, usize)) -> Result<Vec<Value>, GuestError> {
    let failed = |error| GuestError::io(directory.display().to_string(), error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    let mut verdicts = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let text = std::fs::read_to_string(directory.join(name)).map_err(failed)?;
        let mut verdict = verdict(&text)?;
        verdict["name"] = json!(name.to_string_lossy().trim_end_matches(".dialogue"));
        verdicts.push(verdict);
        report(crate::system::clock_ns(libc::CLOCK_MONOTONIC), index + 1);
    }
    Ok(verdicts)
}

/// The error is an infrastructure failure; a difference of the kernel is a verdict.
fn verdict(text: &str) -> Result<Value, GuestError> {
    let script = match Script::parse(text) {
        Ok(script) => script,
        Err(error) => {
            let problem = match error.column {
                Some(column) => format!("column {column}: {}", error.problem),
                None => error.problem,
            };
            return Ok(json!({ "verdict": "unreadable", "line": error.line, "problem": problem }));
        }
    };
    if let Some(reason) = script.model_only {
        return Ok(json!({ "verdict": "does not apply", "line": null, "problem": reason }));
    }
    if let Err(problem) = stage::supports(&script) {
        return Ok(json!({ "verdict": "does not apply", "line": null, "problem": problem }));
    }
    let attempts = if script.draws.is_empty() { 1 } else { ATTEMPTS };
    let mut furthest: Option<DialogueError> = None;
    for _ in 0..attempts {
        match play(&script, &mut Kernel::new(&script)?) {
            Ok(()) => return Ok(json!({ "verdict": "agrees", "line": null, "problem": null })),
            Err(error) => {
                // Without a line it came to the end, and said more.
                let reached = |error: &DialogueError| error.line.unwrap_or(usize::MAX);
                if furthest.as_ref().is_none_or(|furthest| reached(&error) > reached(furthest)) {
                    furthest = Some(error);
                }
            }
        }
    }
    let (line, problem) = furthest.map_or((None, String::new()), |error| (error.line, error.problem));
    Ok(json!({ "verdict": "differs", "line": line, "problem": problem }))
}
