"""Reports of ccstat over many partitions of logs, by DuckDB or Spark."""
