"""Reports over logs of any size, on Spark.

    spark-submit fleet/spark/job.py --ccstat PATH --out URI LOGS…

Lists logs and archives in any file system that Spark reads, groups those that belong together, runs ccstat on each partition, and
writes below OUT:

    sessions charges calls turns failures    tables of ccstat, with the column `part`
    partitions                               one row for each partition: counts, status, messages
    reports/NAME                             the views of fleet/sql

Logs on a local disk are read in place. All others are read by Spark and written to a temporary folder of the executor. Spark retries a
partition that fails; one that fails every time is named with its logs, and the job goes on without it. The exit code is 3 if nothing could
be read, and 4 if a partition failed or some log could not be read.
"""

import argparse
import atexit
import json
import os
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow
import pyarrow.parquet
from pyspark import SparkFiles, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import operator, plan, views
from .local import head, unpacked

#: Result of a partition: its row and its tables, as Parquet files.
STAGED = "part string, name string, data binary"

#: Logs that a task looks into for session ids, and the number of such tasks at most.
LOGS_OF_TASK = 200
MOST_TASKS = 2000

#: Name under which the row about a partition is staged.
ROW = "partition"


@dataclass(frozen=True)
class Settings:
    """What tasks need to know. `attempts` is how often Spark tries a task."""

    program: str
    attempts: int


def main(words: list[str] | None = None) -> int:
    wanted = arguments(words)
    spark = SparkSession.builder.appName("ccstat-fleet").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", wanted.timezone)
    # The other form of times is older and has no time zone.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    # A row holds a whole file; a batch of many would not fit into memory.
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    settings = ship(spark, wanted.ccstat)
    logs, markers = listed(spark, wanted.logs)
    parts = plan.partitions(logs, sniffed(spark, logs), wanted.partition_size, wanted.name)
    print(f"{len(logs)} logs, {sum(log.size for log in logs)} bytes, {len(parts)} partitions", file=sys.stderr)
    if not parts:
        return 3
    staged = f"{wanted.out}/staged"
    run(spark, settings, parts, markers).write.mode("overwrite").partitionBy("name").parquet(staged)
    write_tables(spark, schemas(wanted.ccstat), staged, wanted.out)
    delete(spark, staged)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    create_views(spark, wanted.out)
    for report in views.REPORTS:
        spark.table(report).write.mode("overwrite").parquet(f"{wanted.out}/reports/{report}")
    return status(spark)


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOGS", help="logs, folders or archives: paths or URIs")
    parser.add_argument("--out", required=True, metavar="URI", help="folder of the tables and reports")
    parser.add_argument("--ccstat", required=True, metavar="PATH", help="the program, for the system of the executors")
    parser.add_argument("--partition-size", type=int, default=plan.PARTITION_BYTES, metavar="BYTES")
    parser.add_argument("--name", default="p", help="begins the names of partitions, so that those of several runs differ (p)")
    parser.add_argument("--timezone", default="UTC", help="time zone in which days begin (UTC)")
    return parser.parse_args(words)


# The driver: find logs, plan partitions.


def ship(spark: SparkSession, program: str) -> Settings:
    """Sends the program and this package to the executors."""
    context = spark.sparkContext
    context.addFile(program)
    with tempfile.NamedTemporaryFile(suffix=".zip", prefix="ccfleet-", delete=False) as file, zipfile.ZipFile(file, "w") as archive:
        for source in Path(__file__).resolve().parent.glob("*.py"):
            archive.write(source, f"ccfleet/{source.name}")
    context.addPyFile(file.name)
    # Executors fetch it from here until the end.
    atexit.register(os.unlink, file.name)
    return Settings(os.path.basename(program), int(spark.conf.get("spark.task.maxFailures", "4")))


def listed(spark: SparkSession, roots: Iterable[str]) -> tuple[list[plan.Log], list[str]]:
    """The logs below these roots, and the files that mark archives."""
    logs: dict[str, plan.Log] = {}
    markers = []
    for root in roots:
        for name, size, is_named in files_below(spark, root):
            path = local_path(name) or name
            if name.endswith(f"/{plan.MARKER}"):
                markers.append(name)
            # A file that is named itself is read whatever its name is.
            elif is_named or plan.is_log(path):
                logs[path] = plan.Log(path, size)
    return list(logs.values()), markers


def files_below(spark: SparkSession, root: str) -> Iterator[tuple[str, int, bool]]:
    """Files with their size, and whether the root is the file itself."""
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(root)
    system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    if not system.exists(path):
        sys.exit(f"job.py: no such file or folder: `{root}`")
    is_file = system.getFileStatus(path).isFile()
    files = system.listFiles(path, True)
    while files.hasNext():
        file = files.next()
        yield file.getPath().toString(), file.getLen(), is_file


def local_path(uri: str) -> str | None:
    """The path of a file on a local disk."""
    return uri.removeprefix("file://").removeprefix("file:") if uri.startswith("file:/") else None


def is_local(path: str) -> bool:
    return path.startswith("/")


def sniffed(spark: SparkSession, logs: list[plan.Log]) -> Callable[[str], Iterable[str]]:
    """Session ids in the first records of logs whose name says nothing."""
    unknown = [log.path for log in logs if plan.needs_head(log)]
    near = [path for path in unknown if is_local(path)]
    far = [path for path in unknown if not is_local(path)]
    found: dict[str, set[str]] = {}
    if near:
        slices = max(1, min(len(near) // LOGS_OF_TASK, MOST_TASKS))
        ids = spark.sparkContext.parallelize(near, slices).map(lambda path: (path, plan.session_ids(head(path))))
        found.update(ids.collect())
    if far:
        start = F.substring("content", 1, plan.HEAD_BYTES)
        rows = contents(spark, far).select("path", start.alias("head"))
        found.update((row.path, plan.session_ids(unpacked(row.path, bytes(row.head)))) for row in rows.toLocalIterator())
    return lambda path: found.get(path, ())


def contents(spark: SparkSession, paths: list[str]) -> DataFrame:
    return spark.read.format("binaryFile").load(paths)


# The tasks: run ccstat.


def run(spark: SparkSession, settings: Settings, parts: list[plan.Partition], markers: list[str]) -> DataFrame:
    """Runs ccstat on all partitions: local ones as they are, others after fetching."""
    near = [one for one in parts if all(is_local(log.path) for log in one.logs)]
    far = [one for one in parts if one not in near] if len(near) < len(parts) else []
    done = [run_local(spark, settings, near)] if near else []
    done += [run_fetched(spark, settings, far, markers)] if far else []
    return done[0] if len(done) == 1 else done[0].union(done[1])


def run_local(spark: SparkSession, settings: Settings, parts: list[plan.Partition]) -> DataFrame:
    rows = [(one.name, json.dumps([log.path for log in one.logs])) for one in parts]
    tasks = spark.sparkContext.parallelize(rows, len(rows))
    frame = spark.createDataFrame(tasks, "part string, paths string")

    def task(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for row in (row for batch in batches for row in batch.to_pylist()):
            paths = json.loads(row["paths"])
            yield from operate(settings, row["part"], paths, lambda folder, paths=paths: operator.link(folder, paths))

    return frame.mapInArrow(task, STAGED)


def run_fetched(spark: SparkSession, settings: Settings, parts: list[plan.Partition], markers: list[str]) -> DataFrame:
    """Reads logs with Spark, brings those of a partition together, and runs ccstat on them."""
    above = [(marker, marker.rsplit("/", 1)[0] + "/") for marker in markers]
    rows = []
    for one in parts:
        paths = [log.path for log in one.logs]
        rows += [(one.name, path) for path in paths]
        rows += [(one.name, marker) for marker, folder in above if any(path.startswith(folder) for path in paths)]
    owners = spark.createDataFrame(rows, "part string, path string")
    read = contents(spark, sorted({path for _, path in rows})).select("path", "content")
    together = owners.join(read, "path").repartition(len(parts), "part").sortWithinPartitions("part", "path")

    def task(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        files = (row for batch in batches for row in batch.to_pylist())
        for part, rows in groupby(files, lambda row: row["part"]):
            with tempfile.TemporaryDirectory(prefix="ccfleet-") as name:
                paths = []
                for row in rows:
                    target = Path(name) / operator.mirrored(row["path"])
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(row["content"])
                    if not row["path"].endswith(f"/{plan.MARKER}"):
                        paths.append(row["path"])
                yield from operate(settings, part, paths, lambda folder, name=name: folder.rmdir() or folder.symlink_to(name))

    return together.select("part", "path", "content").mapInArrow(task, STAGED)


def operate(settings: Settings, part: str, paths: list[str], fill: Callable[[Path], object]) -> Iterator[pyarrow.RecordBatch]:
    """Runs ccstat on one partition. Fails the task unless it is the last attempt; then the partition has a row that says so."""
    with tempfile.TemporaryDirectory(prefix="ccfleet-") as name:
        logs, made = Path(name, "logs"), Path(name, "made")
        logs.mkdir()
        made.mkdir()
        try:
            fill(logs)
            row = operator.run(program(settings), logs, part, paths, made, threads=1)
        except (operator.OperatorError, OSError) as error:
            context = TaskContext.get()
            if context is not None and context.attemptNumber() + 1 < settings.attempts:
                raise RuntimeError(f"partition {part}: {error}; its logs: {', '.join(paths)}") from error
            yield staged_batch(part, ROW, operator.failed(part, paths, error).batch())
            return
        for table in views.EXPORTS:
            yield batch_of(part, table, (made / f"{table}.parquet").read_bytes())
        yield staged_batch(part, ROW, row.batch())


def program(settings: Settings) -> str:
    path = Path(SparkFiles.get(settings.program))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def staged_batch(part: str, name: str, rows: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_batches([rows]), sink)
    return batch_of(part, name, sink.getvalue().to_pybytes())


def batch_of(part: str, name: str, data: bytes) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pydict({"part": [part], "name": [name], "data": pyarrow.array([data], pyarrow.binary())})


# The tables.


def schemas(ccstat: str) -> dict[str, pyarrow.Schema]:
    """The columns of each table, from an export of a log without records."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="ccfleet-") as name:
        logs, made = Path(name, "logs"), Path(name, "made")
        logs.mkdir()
        made.mkdir()
        (logs / "empty.jsonl").touch()
        operator.run(os.path.abspath(ccstat), logs, "", [], made)
        for table in views.EXPORTS:
            found[table] = pyarrow.parquet.read_schema(made / f"{table}.parquet")
    return found


def write_tables(spark: SparkSession, columns: dict[str, pyarrow.Schema], staged: str, out: str) -> None:
    """Turns the staged files into tables."""
    from pyspark.sql.pandas.types import from_arrow_schema

    frame = spark.read.parquet(staged)

    def unpack(is_row: bool) -> Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
        def task(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for row in (row for batch in batches for row in batch.to_pylist()):
                table = pyarrow.parquet.read_table(pyarrow.BufferReader(row["data"]))
                if not is_row:
                    table = table.append_column("part", pyarrow.array([row["part"]] * table.num_rows, pyarrow.string()))
                yield from in_microseconds(table).to_batches()

        return task

    for table, schema in columns.items():
        with_part = schema.append(pyarrow.field("part", pyarrow.string()))
        rows = frame.where(F.col("name") == table).select("part", "data")
        made = rows.mapInArrow(unpack(is_row=False), from_arrow_schema(with_part, prefer_timestamp_ntz=False))
        made.write.mode("overwrite").option("compression", "zstd").parquet(f"{out}/{table}")
    rows = frame.where(F.col("name") == ROW).select("part", "data")
    made = rows.mapInArrow(unpack(is_row=True), from_arrow_schema(operator.ROWS, prefer_timestamp_ntz=False))
    made.write.mode("overwrite").option("compression", "zstd").parquet(f"{out}/{views.PARTITIONS}")


def in_microseconds(table: pyarrow.Table) -> pyarrow.Table:
    """The same table with the unit of time that Spark has."""
    for at, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type):
            wanted = pyarrow.timestamp("us", tz="UTC")
            table = table.set_column(at, field.with_type(wanted), table.column(at).cast(wanted))
    return table


def delete(spark: SparkSession, folder: str) -> None:
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(folder)
    path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).delete(path, True)


def create_views(spark: SparkSession, tables: str) -> None:
    spark.catalog.clearCache()
    for name in views.EXPORTS:
        spark.read.parquet(f"{tables}/{name}").createOrReplaceTempView(f"raw_{name}")
    spark.read.parquet(f"{tables}/{views.PARTITIONS}").createOrReplaceTempView(views.PARTITIONS)
    for view in views.views():
        frame = spark.sql(view.query)
        if view.is_kept:
            frame = frame.cache()
        frame.createOrReplaceTempView(view.name)


def status(spark: SparkSession) -> int:
    """The exit code. Names the partitions that are not complete."""
    incomplete = spark.table(views.PARTITIONS).where("status <> 'ok'").orderBy("part").collect()
    for row in incomplete:
        print(f"partition {row.part}: {row.status}: {row.message!a}: {row.paths}", file=sys.stderr)
    if not spark.table(views.PARTITIONS).agg(F.sum("records")).first()[0]:
        return 3
    return 4 if any(row.status in ("partial", "failed") for row in incomplete) else 0
