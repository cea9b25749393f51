//! The record tables of Daybreak: one plain struct per table, and the tables as columns.
//!
//! All engines fill the same tables. After the Plan this is the second public API: renaming a column here renames it
//! for every user.

mod probe;
mod rows;
mod table;

pub use probe::{Probe, Silent};
pub use rows::*;
pub use table::{Column, Description, Table};
