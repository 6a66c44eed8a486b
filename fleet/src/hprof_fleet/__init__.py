"""Profiles of many JVMs: merged, ranked, compared and drawn with SQL, on DuckDB or Spark."""
