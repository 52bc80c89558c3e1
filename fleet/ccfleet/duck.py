"""The views in DuckDB."""

from pathlib import Path

import duckdb
import pyarrow

from .views import EXPORTS, PARTITIONS, views

Settings = dict[str, str | bool | int | float | list[str]]


def connect(tables: str, timezone: str = "UTC", settings: Settings | None = None) -> duckdb.DuckDBPyConnection:
    """Opens the tables below a folder, written by `local.write` or by the Spark job, with all views."""
    connection = duckdb.connect(config=settings or {})
    connection.execute(f"SET TimeZone = {_text(timezone)}")
    for name in EXPORTS:
        files = _text(f"{tables}/{name}/**/*.parquet")
        options = "union_by_name = true, hive_partitioning = true, hive_types_autocast = false"
        connection.execute(f"CREATE VIEW raw_{name} AS SELECT * FROM read_parquet({files}, {options})")
    files = _text(f"{tables}/{PARTITIONS}/*.parquet")
    connection.execute(f"CREATE VIEW {PARTITIONS} AS SELECT * FROM read_parquet({files})")
    for view in views():
        connection.execute(f"CREATE {'TABLE' if view.is_kept else 'VIEW'} {view.name} AS {view.query}")
    return connection


def rows(connection: duckdb.DuckDBPyConnection, view: str) -> pyarrow.Table:
    """The rows of a view."""
    return connection.sql(f"SELECT * FROM {view}").to_arrow_table()


def _text(value: str | Path) -> str:
    """A literal of SQL."""
    return "'" + str(value).replace("'", "''") + "'"
