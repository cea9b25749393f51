//! The record vocabulary of Daybreak: one plain struct a table, and the tables as columns.
//!
//! All engines fill the same tables. This is the second public API after the Plan: a column that is
//! renamed here is renamed for every user.

mod probe;
mod rows;
mod table;

pub use probe::{Probe, Silent};
pub use rows::*;
pub use table::{Column, Description, Table};
