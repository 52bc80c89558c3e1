"""Writes the tables of logs on this machine, one partition after another."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet

from . import operator
from .plan import HEAD_BYTES, Log, Partition, is_log, needs_head, partitions, session_ids
from .views import EXPORTS, PARTITIONS


def find(roots: Iterable[str]) -> Iterator[Log]:
    """The logs below folders, and those that are named themselves."""
    for root in roots:
        path = Path(root).resolve()
        if not path.is_dir():
            yield Log(str(path), path.stat().st_size if path.exists() else 0)
            continue
        for folder, _, names in os.walk(path):
            files = [Path(folder, name) for name in names if is_log(str(Path(folder, name)))]
            yield from (Log(str(file), file.stat().st_size) for file in files if file.is_file())


def head(path: str) -> bytes:
    """The first bytes of a log, unpacked; nothing if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return unpacked(path, file.read(HEAD_BYTES))
    except OSError:
        return b""


def unpacked(path: str, data: bytes) -> bytes:
    """The beginning of a log, of which the beginning of its file is known."""
    codec = {".gz": "gzip", ".zst": "zstd"}.get(Path(path).suffix)
    if codec is None:
        return data
    pieces = bytearray()
    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), codec) as stream:
            while len(pieces) < HEAD_BYTES and (piece := stream.read(4096)):
                pieces += piece
    except OSError:
        pass  # It ends inside the archive.
    return bytes(pieces)


def planned(roots: Iterable[str], size: int, name: str = "p") -> list[Partition]:
    """The partitions of the logs below these roots."""
    logs = {log.path: log for log in find(roots)}
    return partitions(logs.values(), lambda path: session_ids(head(path)) if needs_head(logs[path]) else (), size, name)


def write(ccstat: str, parts: list[Partition], out: Path, threads: int = 0) -> list[operator.Row]:
    """Writes `out/TABLE/part=NAME/data.parquet` for each partition, and the table of partitions. Returns its rows."""
    rows = [_write_one(ccstat, one, out, threads) for one in parts]
    target = out / PARTITIONS / "data.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    table = pyarrow.Table.from_batches([row.batch() for row in rows], schema=operator.ROWS)
    pyarrow.parquet.write_table(table, target, compression="zstd")
    return rows


def _write_one(ccstat: str, one: Partition, out: Path, threads: int) -> operator.Row:
    paths = [log.path for log in one.logs]
    with tempfile.TemporaryDirectory(prefix="ccfleet-") as name:
        logs, made = Path(name, "logs"), Path(name, "made")
        logs.mkdir()
        made.mkdir()
        try:
            operator.link(logs, paths)
            row = operator.run(ccstat, logs, one.name, paths, made, threads=threads)
        except (operator.OperatorError, OSError) as error:
            print(f"partition {one.name} failed: {error}; its logs: {', '.join(paths)}", file=sys.stderr)
            return operator.failed(one.name, paths, error)
        for table in EXPORTS:
            target = out / table / f"part={one.name}" / "data.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((made / f"{table}.parquet").read_bytes())
        return row
