//! One Parquet file: a table of one run.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::errors::Result;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use crate::buffer::Buffer;
use crate::schema::{Column, Kind, Table};

/// The number of rows in a row group, which is kept in memory.
const ROWS: usize = 1 << 18;
/// The most bytes of texts that are kept in memory.
const TEXT_BYTES: usize = 32 << 20;

/// The first column of every table. Delta encoding of a constant takes less time than a dictionary with one entry.
static RUN_ID: Column = Column {
    name: "run_id",
    kind: Kind::Distinct,
    nullable: false,
    meaning: "the input, by its content",
};

/// A file that is being written.
pub(crate) struct TableFile {
    table: &'static Table,
    run: i64,
    writer: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Buffer>,
    /// The first column.
    runs: Vec<i64>,
    rows: usize,
    text_bytes: usize,
    all_rows: u64,
}

impl TableFile {
    pub(crate) fn new(table: &'static Table, run: i64, file: File) -> Result<TableFile> {
        let file = BufWriter::with_capacity(1 << 20, file);
        let schema = Arc::new(schema(table)?);
        let properties = Arc::new(properties(table));
        Ok(TableFile {
            table,
            run,
            writer: SerializedFileWriter::new(file, schema, properties)?,
            columns: table.columns.iter().map(Buffer::for_column).collect(),
            runs: Vec::new(),
            rows: 0,
            text_bytes: 0,
            all_rows: 0,
        })
    }

    /// Adds a row. `fill` must supply a value for each column, in their order.
    #[inline]
    pub(crate) fn row(&mut self, fill: impl FnOnce(&mut TableRow<'_>)) -> Result<()> {
        let mut row = TableRow {
            columns: self.columns.iter_mut(),
            text_bytes: 0,
        };
        fill(&mut row);
        debug_assert_eq!(row.columns.len(), 0, "{}", self.table.name);
        self.text_bytes += row.text_bytes;
        self.rows += 1;
        if self.rows == ROWS || self.text_bytes >= TEXT_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    /// Writes the rest and the file's end; returns the number of rows.
    pub(crate) fn finish(mut self) -> Result<u64> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(self.all_rows)
    }

    #[cold]
    fn write_group(&mut self) -> Result<()> {
        self.sort();
        self.runs.resize(self.rows, self.run);
        let mut group = self.writer.next_row_group()?;
        if let Some(mut column) = group.next_column()? {
            let writer = column.typed::<parquet::data_type::Int64Type>();
            writer.write_batch(&self.runs, None, None)?;
            column.close()?;
        }
        let mut buffers = self.columns.iter_mut();
        while let (Some(mut column), Some(buffer)) = (group.next_column()?, buffers.next()) {
            buffer.write(column.untyped())?;
            column.close()?;
        }
        group.close()?;
        self.all_rows += self.rows as u64;
        (self.rows, self.text_bytes) = (0, 0);
        Ok(())
    }

    /// Sorts the rows by the second column to sort by, if there is one.
    fn sort(&mut self) {
        let Some(&first) = self.table.sort.first() else {
            return;
        };
        let place = self.table.columns.iter().position(|c| c.name == first);
        let order = place.and_then(|place| self.columns[place].order(self.rows));
        if let Some(order) = order {
            for column in &mut self.columns {
                column.reorder(&order);
            }
        }
    }
}

/// A row that is being filled.
pub(crate) struct TableRow<'a> {
    columns: std::slice::IterMut<'a, Buffer>,
    text_bytes: usize,
}

impl TableRow<'_> {
    #[inline]
    pub(crate) fn long(&mut self, value: impl Into<Option<i64>>) -> &mut Self {
        if let Some(column) = self.columns.next() {
            column.long(value.into());
        }
        self
    }

    #[inline]
    pub(crate) fn int(&mut self, value: impl Into<Option<i32>>) -> &mut Self {
        if let Some(column) = self.columns.next() {
            column.int(value.into());
        }
        self
    }

    pub(crate) fn text<'t>(&mut self, value: impl Into<Option<&'t str>>) -> &mut Self {
        let value = value.into();
        self.text_bytes += value.map_or(0, str::len);
        if let Some(column) = self.columns.next() {
            column.text(value);
        }
        self
    }

    pub(crate) fn real(&mut self, value: Option<f64>) -> &mut Self {
        if let Some(column) = self.columns.next() {
            column.real(value);
        }
        self
    }

    pub(crate) fn flag(&mut self, value: bool) -> &mut Self {
        if let Some(column) = self.columns.next() {
            column.flag(value);
        }
        self
    }
}

fn schema(table: &Table) -> Result<Type> {
    let columns = std::iter::once(&RUN_ID).chain(table.columns);
    let columns: Result<Vec<_>> = columns.map(|column| field(column).map(Arc::new)).collect();
    Type::group_type_builder(table.name)
        .with_fields(columns?)
        .build()
}

fn field(column: &Column) -> Result<Type> {
    let (physical, logical) = match column.kind {
        Kind::Repeated | Kind::Distinct => (Physical::INT64, None),
        Kind::Small | Kind::Counted => (Physical::INT32, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Flag => (Physical::BOOLEAN, None),
        Kind::Real => (Physical::DOUBLE, None),
    };
    let repetition = match column.nullable {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

fn properties(table: &Table) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        // The page version that every engine reads.
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(concat!("hprof ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(None)
        .set_sorting_columns(sorting(table));
    for column in std::iter::once(&RUN_ID).chain(table.columns) {
        let path = ColumnPath::from(column.name);
        // Also used for a dictionary that grows too large.
        if matches!(
            column.kind,
            Kind::Repeated | Kind::Distinct | Kind::Small | Kind::Counted
        ) {
            properties =
                properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        let is_dictionary = matches!(
            column.kind,
            Kind::Repeated | Kind::Small | Kind::Text | Kind::Real
        );
        properties = properties.set_column_dictionary_enabled(path, is_dictionary);
    }
    properties.build()
}

fn sorting(table: &Table) -> Option<Vec<SortingColumn>> {
    let place = |name: &&str| table.columns.iter().position(|column| column.name == *name);
    let places = table.sort.iter().filter_map(place);
    let columns: Vec<SortingColumn> = places
        .filter_map(|place| i32::try_from(place).ok())
        .map(|place| SortingColumn {
            // After run_id.
            column_idx: place + 1,
            descending: false,
            nulls_first: true,
        })
        .collect();
    (!columns.is_empty()).then_some(columns)
}
