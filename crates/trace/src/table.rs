//! Defines tables: a plain row struct, and its fields as columns.

/// One column with its values, ready to be passed on without a copy.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Small codes and flags.
    U8(Vec<u8>),
    /// Identifiers and counts.
    U32(Vec<u32>),
    /// Times and bytes.
    U64(Vec<u64>),
}

impl From<Vec<u8>> for Column {
    fn from(values: Vec<u8>) -> Self {
        Self::U8(values)
    }
}
impl From<Vec<u32>> for Column {
    fn from(values: Vec<u32>) -> Self {
        Self::U32(values)
    }
}
impl From<Vec<u64>> for Column {
    fn from(values: Vec<u64>) -> Self {
        Self::U64(values)
    }
}

/// A filled table: its name and its columns in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table for users.
    pub name: &'static str,
    /// Column names with their values, all of equal length.
    pub columns: Vec<(&'static str, Column)>,
}

/// Description of a table and its columns, from the comments of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name of the table.
    pub name: &'static str,
    /// What a row is; lines as in the source.
    pub meaning: &'static [&'static str],
    /// The columns in order: name, type, meaning.
    pub columns: &'static [(&'static str, &'static str, &'static [&'static str])],
}

/// Declares a row struct and the struct of its columns.
macro_rules! table {
    ($(#[doc = $doc:literal])* $name:literal $row:ident => $columns:ident {
        $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $row { $($(#[doc = $field_doc])* pub $field: $ty,)* }

        #[doc = concat!("The columns of the table `", $name, "`.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $columns { $($(#[doc = $field_doc])* pub $field: Vec<$ty>,)* }

        impl $columns {
            /// The description of the table and its columns.
            pub const DESCRIPTION: $crate::Description = $crate::Description {
                name: $name,
                meaning: &[$($doc),*],
                columns: &[$((stringify!($field), stringify!($ty), &[$($field_doc),*])),*],
            };

            /// Appends a row.
            pub fn push(&mut self, row: $row) { $(self.$field.push(row.$field);)* }
            /// The columns, moved out.
            pub fn into_table(self) -> $crate::Table {
                $crate::Table { name: $name, columns: vec![$((stringify!($field), self.$field.into()),)*] }
            }
        }
    };
}
pub(crate) use table;
