//! Dialogues with the guest's own kernel: the files that TCP's tests play with the model, played with Linux.
//!
//! Each dialogue has a pair of network namespaces to itself. The stack under test lives in one; the other end
//! of its cable is a packet socket, from which the peer's segments come. Time is virtual and stands still
//! while anything runs, so every step happens when its line says and every answer is seen when it leaves.

mod acquaintance;
mod kernel;
mod stage;
mod told;
mod wire;

use std::path::Path;

use daybreak_dialogue::{Script, play};
use serde_json::{Value, json};

use crate::error::GuestError;
use kernel::Kernel;

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

/// The error is one of the machinery; what the kernel does differently is a verdict.
fn verdict(text: &str) -> Result<Value, GuestError> {
    let script = match Script::parse(text) {
        Ok(script) => script,
        Err(error) => return Ok(json!({ "verdict": "unreadable", "line": error.line, "problem": error.problem })),
    };
    if let Some(reason) = script.model_only {
        return Ok(json!({ "verdict": "does not apply", "line": null, "problem": reason }));
    }
    if let Err(problem) = stage::supports(&script) {
        return Ok(json!({ "verdict": "does not apply", "line": null, "problem": problem }));
    }
    let mut kernel = Kernel::new(&script)?;
    Ok(match play(&script, &mut kernel) {
        Ok(()) => json!({ "verdict": "agrees", "line": null, "problem": null }),
        Err(error) => json!({ "verdict": "differs", "line": error.line, "problem": error.problem }),
    })
}
