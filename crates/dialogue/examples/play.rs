//! Plays dialogues with the model, one line each:
//!
//! ```text
//! cargo run -p daybreak-dialogue --example play -- FILE...
//! ```
//!
//! `daybreak kernel dialogues FILE...` plays them with Linux.

use std::io::Write;

use daybreak_dialogue::{Model, Script, play};

#[expect(clippy::disallowed_methods, reason = "a program's edge: arguments")]
fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut differ = 0;
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let outcome = Script::parse(&text).map_err(|error| error.to_string()).and_then(|script| {
            let mut model = Model::new(&script).map_err(|error| error.to_string())?;
            play(&script, &mut model).map_err(|error| error.to_string())
        });
        match outcome {
            Ok(()) => writeln!(out, "{path}: agrees")?,
            Err(problem) => {
                differ += 1;
                writeln!(out, "{path}: {problem}")?;
            }
        }
    }
    if differ == 0 { Ok(()) } else { Err(std::io::Error::other(format!("{differ} differ"))) }
}
