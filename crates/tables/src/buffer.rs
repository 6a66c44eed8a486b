//! The rows of one column that have not been written yet.

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::Result;

use crate::schema::{Column, Kind};

/// Rows of one column.
#[derive(Debug)]
pub(crate) struct Buffer {
    values: Values,
    /// 1 for each row with a value, 0 for one without; `None` if every row has one.
    levels: Option<Vec<i16>>,
}

/// The values that are not null.
#[derive(Debug)]
enum Values {
    Longs(Vec<i64>),
    Ints(Vec<i32>),
    Texts(Vec<ByteArray>),
    Flags(Vec<bool>),
    Reals(Vec<f64>),
}

impl Buffer {
    pub(crate) fn for_column(column: &Column) -> Buffer {
        Buffer {
            values: match column.kind {
                Kind::Repeated | Kind::Distinct => Values::Longs(Vec::new()),
                Kind::Small | Kind::Counted => Values::Ints(Vec::new()),
                Kind::Text => Values::Texts(Vec::new()),
                Kind::Flag => Values::Flags(Vec::new()),
                Kind::Real => Values::Reals(Vec::new()),
            },
            levels: column.nullable.then(Vec::new),
        }
    }

    #[inline]
    pub(crate) fn long(&mut self, value: Option<i64>) {
        if let Values::Longs(values) = &mut self.values {
            values.extend(value);
        }
        self.level(value.is_some());
    }

    #[inline]
    pub(crate) fn int(&mut self, value: Option<i32>) {
        if let Values::Ints(values) = &mut self.values {
            values.extend(value);
        }
        self.level(value.is_some());
    }

    pub(crate) fn text(&mut self, value: Option<&str>) {
        if let Values::Texts(values) = &mut self.values {
            values.extend(value.map(ByteArray::from));
        }
        self.level(value.is_some());
    }

    pub(crate) fn real(&mut self, value: Option<f64>) {
        if let Values::Reals(values) = &mut self.values {
            values.extend(value);
        }
        self.level(value.is_some());
    }

    pub(crate) fn flag(&mut self, value: bool) {
        if let Values::Flags(values) = &mut self.values {
            values.push(value);
        }
        self.level(true);
    }

    #[inline]
    fn level(&mut self, present: bool) {
        if let Some(levels) = &mut self.levels {
            levels.push(present.into());
        }
    }

    /// Passes all rows to the writer of a column, and empties the buffer.
    pub(crate) fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<()> {
        let levels = self.levels.as_deref();
        match (writer, &self.values) {
            (ColumnWriter::Int64ColumnWriter(writer), Values::Longs(values)) => {
                writer.write_batch(values, levels, None)?;
            }
            (ColumnWriter::Int32ColumnWriter(writer), Values::Ints(values)) => {
                writer.write_batch(values, levels, None)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Texts(values)) => {
                writer.write_batch(values, levels, None)?;
            }
            (ColumnWriter::BoolColumnWriter(writer), Values::Flags(values)) => {
                writer.write_batch(values, levels, None)?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), Values::Reals(values)) => {
                writer.write_batch(values, levels, None)?;
            }
            // Both are created from the same schema.
            _ => {}
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Longs(values) => values.clear(),
            Values::Ints(values) => values.clear(),
            Values::Texts(values) => values.clear(),
            Values::Flags(values) => values.clear(),
            Values::Reals(values) => values.clear(),
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
    }

    /// Returns the ascending order of the rows, nulls first and equal ones unchanged; `None` if they are already in
    /// order. Only columns of 64 and 32 bits can be sorted by.
    pub(crate) fn order(&self, rows: usize) -> Option<Vec<u32>> {
        let mut keyed = self.keyed(rows);
        if keyed.is_sorted_by_key(|&(key, _)| key) {
            return None;
        }
        // Objects come in a few long runs, which a stable sort merges.
        keyed.sort_by_key(|&(key, _)| key);
        Some(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// Returns the sort key of each row, and its number.
    fn keyed(&self, rows: usize) -> Vec<(i64, u32)> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a buffer is written out when it has 2^18 rows"
        )]
        let numbers = 0..rows as u32;
        let value = |place: u32| match &self.values {
            Values::Longs(values) => values[place as usize],
            Values::Ints(values) => values[place as usize].into(),
            Values::Texts(_) | Values::Flags(_) | Values::Reals(_) => 0,
        };
        match self.places(rows) {
            None => numbers.map(|row| (value(row), row)).collect(),
            Some(places) => {
                let keys = places.iter().map(|place| place.map_or(i64::MIN, value));
                keys.zip(numbers).collect()
            }
        }
    }

    /// Puts the rows in this order.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        let places = self.places(order.len());
        let place = |row: &u32| match &places {
            Some(places) => places[*row as usize],
            None => Some(*row),
        };
        let order_of_values = order.iter().filter_map(place);
        match &mut self.values {
            Values::Longs(values) => {
                *values = order_of_values.map(|at| values[at as usize]).collect()
            }
            Values::Ints(values) => {
                *values = order_of_values.map(|at| values[at as usize]).collect()
            }
            Values::Texts(values) => {
                *values = order_of_values
                    .map(|at| values[at as usize].clone())
                    .collect();
            }
            Values::Flags(values) => {
                *values = order_of_values.map(|at| values[at as usize]).collect()
            }
            Values::Reals(values) => {
                *values = order_of_values.map(|at| values[at as usize]).collect()
            }
        }
        if let Some(levels) = &mut self.levels {
            *levels = order.iter().map(|&row| levels[row as usize]).collect();
        }
    }

    /// Returns the index of each row's value; `None` if that is the row's own number.
    fn places(&self, rows: usize) -> Option<Vec<Option<u32>>> {
        let levels = self.levels.as_ref()?;
        let mut next = 0;
        let mut places = Vec::with_capacity(rows);
        for &level in levels {
            places.push((level != 0).then_some(next));
            next += u32::from(level != 0);
        }
        Some(places)
    }
}
