"""Divides logs into partitions, so that logs that belong together are read together.

ccstat counts each thing once within a partition. A session whose subagents, forks or other dialect are in another partition is
counted wrongly there, so three rules keep logs together:

1. Saved sessions of one project folder, with their subagents.
2. Logs of any other folder, if the folder is not larger than a partition.
3. Logs with a session id in common, by name or in their first records.

Groups are then packed into partitions of about the wanted size. A group is never cut.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

#: Bytes of a log that are searched for session ids.
HEAD_BYTES = 64 << 10

#: The file that marks an archive of ccstat.
MARKER = "ccstat-archive.json"

#: Wanted size of a partition. Compressed logs are about ten times as large inside.
PARTITION_BYTES = 256 << 20

ENDINGS = re.compile(r"\.(jsonl|ndjson|json)(\.gz|\.zst)?$")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SESSION_ID = re.compile(rb'"session_?[iI]d"\s*:\s*"([^"\\]{1,100})"')


@dataclass(frozen=True)
class Log:
    """A file with its size. The path is absolute, or a URI."""

    path: str
    size: int


@dataclass(frozen=True)
class Partition:
    """Logs that one run of ccstat reads."""

    name: str
    logs: tuple[Log, ...]

    @property
    def size(self) -> int:
        return sum(log.size for log in self.logs)


def is_log(path: str) -> bool:
    """Whether ccstat would look at a file of this name in a folder."""
    pure = PurePosixPath(path)
    if pure.name == MARKER or pure.name.endswith(".meta.json") or "tool-results" in pure.parts:
        return False
    return ENDINGS.search(pure.name) is not None


def project_folder(path: str) -> str | None:
    """The project folder of a saved session or of one of its subagents."""
    pure = PurePosixPath(path)
    for above in reversed(pure.parents):
        if UUID.fullmatch(above.name):
            return str(above.parent)
    stem = pure.name.split(".")[0]
    return str(pure.parent) if UUID.fullmatch(stem) or stem.startswith("agent-") else None


def session_ids(head: bytes) -> set[str]:
    """The session ids in the first bytes of a log."""
    return {found.decode("utf-8", "replace") for found in SESSION_ID.findall(head)}


def named_ids(path: str) -> set[str]:
    """The session ids in the name of a log."""
    return {part.split(".")[0] for part in PurePosixPath(path).parts if UUID.fullmatch(part.split(".")[0])}


def needs_head(log: Log) -> bool:
    """Whether only the content says which session a log belongs to."""
    return project_folder(log.path) is None


class Sets:
    """Disjoint sets of numbers, joined by keys that they have in common."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))
        self.owner: dict[tuple[str, str], int] = {}

    def find(self, item: int) -> int:
        while self.parent[item] != item:
            self.parent[item] = self.parent[self.parent[item]]
            item = self.parent[item]
        return item

    def join(self, item: int, key: tuple[str, str]) -> None:
        root, other = self.find(item), self.find(self.owner.setdefault(key, item))
        # The smaller number is the root, so that the result does not depend on the order of keys.
        self.parent[max(root, other)] = min(root, other)


def grouped(logs: list[Log], ids: Callable[[str], Iterable[str]], limit: int) -> list[list[Log]]:
    """Logs that belong together. `ids` gives the session ids of a log's first records."""
    folders: dict[str, int] = defaultdict(int)
    for log in logs:
        folders[str(PurePosixPath(log.path).parent)] += log.size
    sets = Sets(len(logs))
    for number, log in enumerate(logs):
        project, folder = project_folder(log.path), str(PurePosixPath(log.path).parent)
        if project is not None:
            sets.join(number, ("folder", project))
        elif folders[folder] <= limit:
            sets.join(number, ("folder", folder))
        for session in {*named_ids(log.path), *ids(log.path)}:
            sets.join(number, ("session", session))
    groups: dict[int, list[Log]] = defaultdict(list)
    for number, log in enumerate(logs):
        groups[sets.find(number)].append(log)
    return list(groups.values())


def partitions(logs: Iterable[Log], ids: Callable[[str], Iterable[str]], size: int, name: str = "p") -> list[Partition]:
    """Packs groups of logs into partitions of about `size` bytes, in the order of their paths. `name` begins their names."""
    packed: list[list[Log]] = []
    filled = size
    for group in grouped(sorted(logs, key=lambda log: log.path), ids, size):
        bytes_of_group = sum(log.size for log in group)
        if filled + bytes_of_group > size or not packed:
            packed.append([])
            filled = 0
        packed[-1].extend(group)
        filled += bytes_of_group
    return [Partition(f"{name}{number:06}", tuple(logs)) for number, logs in enumerate(packed)]
