"""Runs ccstat on one partition of logs, which becomes a Parquet file for each table and a row about the partition."""

import datetime
import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow

from .plan import MARKER
from .views import EXPORTS

#: Done; nothing could be read; some log could not be read to its end.
EXPECTED = {0: "ok", 3: "nothing", 4: "partial"}

#: Characters of error messages that are kept.
MESSAGE_LENGTH = 4000


class OperatorError(Exception):
    """ccstat ended in a way that bad logs do not explain: a crash, or no memory."""


@dataclass
class Row:
    """A row of the table of partitions. Counts are missing if the partition failed."""

    part: str
    #: `ok`, `partial`, `nothing` or `failed`.
    status: str
    #: Error messages about logs, or why the partition failed.
    message: str
    files: int
    #: Paths of the logs, as JSON, if the status is not `ok`.
    paths: str | None = None
    sources: int | None = None
    bytes: int | None = None
    lines: int | None = None
    blank: int | None = None
    records: int | None = None
    invalid: int | None = None
    truncated: int | None = None
    copies: int | None = None
    orphans: int | None = None
    first: datetime.datetime | None = None
    last: datetime.datetime | None = None
    #: The summary of the partition alone, as JSON.
    summary: str | None = None

    def batch(self) -> pyarrow.RecordBatch:
        """The row as Arrow."""
        return pyarrow.RecordBatch.from_pylist([asdict(self)], schema=ROWS)


ROWS = pyarrow.schema(
    [
        *[(name, pyarrow.string()) for name in ("part", "status", "message")],
        ("files", pyarrow.int64()),
        ("paths", pyarrow.string()),
        *[
            (name, pyarrow.int64())
            for name in ("sources", "bytes", "lines", "blank", "records", "invalid", "truncated", "copies", "orphans")
        ],
        *[(name, pyarrow.timestamp("us", tz="UTC")) for name in ("first", "last")],
        ("summary", pyarrow.string()),
    ]
)


def mirrored(path: str) -> Path:
    """The place of a log in the folder that ccstat reads: its path, without a scheme."""
    parts = urlsplit(path) if "://" in path else None
    whole = f"{parts.netloc}{unquote(parts.path)}" if parts else path
    return Path(*[part for part in Path(whole).parts if part not in ("/", "..")])


def link(folder: Path, paths: Iterable[str]) -> None:
    """Puts links to local logs into a folder. The folder then looks like the file system, so names in reports are paths."""
    paths = list(paths)
    for path in [*paths, *_markers(paths)]:
        target = folder / mirrored(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(path)


def _markers(paths: list[str]) -> list[str]:
    """The files that mark the archives which these logs are in. ccstat looks for them above a log, to name its machine."""
    folders = {parent for folder in {Path(path).parent for path in paths} for parent in (folder, *folder.parents)}
    return [str(folder / MARKER) for folder in folders if (folder / MARKER).is_file()]


def run(ccstat: str, folder: Path, part: str, paths: list[str], out: Path, *, threads: int = 0) -> Row:
    """Exports the logs of a folder to `out/TABLE.parquet`. Raises `OperatorError` if ccstat crashes."""
    roots = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("ccstat-archive"))
    tables = [_start(ccstat, folder, threads, ["export", name, "-q", "-o", str(out / f"{name}.parquet")], roots) for name in EXPORTS]
    for name, table in zip(EXPORTS, tables, strict=True):
        if table.returncode not in EXPECTED or not (out / f"{name}.parquet").exists():
            raise OperatorError(f"ccstat export {name} ended with {table.returncode}: {_message(table)}")
    done = _start(ccstat, folder, threads, ["summarize", "--format", "json"], roots)
    if done.returncode not in EXPECTED:
        raise OperatorError(f"ccstat summarize ended with {done.returncode}: {_message(done)}")
    return _row(part, paths, EXPECTED[done.returncode], _message(done), json.loads(done.stdout))


def failed(part: str, paths: list[str], error: Exception) -> Row:
    """The row of a partition without figures."""
    return Row(part, "failed", str(error)[:MESSAGE_LENGTH], len(paths), json.dumps(paths))


def _start(ccstat: str, folder: Path, threads: int, words: list[str], roots: list[str]) -> subprocess.CompletedProcess[bytes]:
    options = ["--no-config", "--timezone", "UTC", "--threads", str(threads), "--no-progress"]
    # A variable such as CCSTAT_SINCE would be a filter.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("CCSTAT_")}
    command = [ccstat, *words, *options, "--", *roots]
    return subprocess.run(command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _message(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[:MESSAGE_LENGTH]


def _row(part: str, paths: list[str], status: str, message: str, summary: dict) -> Row:
    counts = {key: summary["input"][key] for key in ("sources", "bytes", "lines", "blank", "records", "invalid", "truncated", "copies")}
    first, last = (_time(summary["duration"][key]) for key in ("first", "last"))
    return Row(
        part,
        status,
        message,
        len(paths),
        None if status == "ok" else json.dumps(paths),
        **counts,
        orphans=summary["tools"]["orphans"],
        first=first,
        last=last,
        summary=json.dumps(summary),
    )


def _time(text: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text) if text else None
