//! The one place where the errors of the crates become exceptions of `daybreak.errors`.

use daybreak_engine::EngineError as Engine;
use pyo3::{PyErr, import_exception};

import_exception!(daybreak.errors, PlanError);
import_exception!(daybreak.errors, EngineError);
import_exception!(daybreak.errors, OutputError);
import_exception!(daybreak.errors, UnknownName);

/// The exception of an engine's error.
pub fn engine_error(error: Engine) -> PyErr {
    let text = error.to_string();
    match error {
        Engine::Plan(_) | Engine::Parse(_) | Engine::NoCaptureOutput { .. } => PlanError::new_err(text),
        Engine::Capture(_) => OutputError::new_err(text),
        Engine::NotConserved { .. } => EngineError::new_err(text),
    }
}

/// The exception of a name that no registry has.
pub fn unknown_name(text: String) -> PyErr {
    UnknownName::new_err(text)
}

/// The exception of a file that cannot be written.
pub fn output_error(path: &str, error: &std::io::Error) -> PyErr {
    OutputError::new_err(format!("{path} cannot be written: {error}"))
}
