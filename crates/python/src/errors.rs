//! The one place where the errors of the crates become exceptions of `daybreak.errors`.

use pyo3::import_exception;

import_exception!(daybreak.errors, PlanError);
