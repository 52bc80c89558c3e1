"""The views of `fleet/sql`, for any engine.

A file `NN-name.sql` holds the query of the view `name`; the number gives the order. The queries keep to SQL that DuckDB and Spark
both understand. One file is a template: `cost_by` becomes a view for each row of `GROUPINGS`, with the words in braces replaced.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SQL = Path(__file__).resolve().parent.parent / "sql"

#: Tables that ccstat exports for each partition. A view `raw_NAME` shows all partitions of one, with the column `part`.
EXPORTS = ("sessions", "charges", "calls", "turns", "failures")

#: The table of the partitions themselves.
PARTITIONS = "partitions"

#: Reports for people, in the order of printing. The view `sessions` may have millions of rows.
REPORTS = (
    "summary",
    "cost_by_day",
    "cost_by_project",
    "cost_by_model",
    "cost_by_tool",
    "cost_by_machine",
    "tools",
    "denials",
    "errors",
    "torn_sessions",
    "sessions",
)


@dataclass(frozen=True)
class View:
    """A view, and whether its rows are kept because several others need them. Such views are small."""

    name: str
    query: str
    is_kept: bool


@dataclass(frozen=True)
class Grouping:
    """A key of `cost_by`: its expression, and the column that counts each response once for a key."""

    key: str
    value: str
    responses: str
    is_series: bool = False

    def fill(self, template: str) -> str:
        order = f"cost_usd DESC NULLS LAST, {self.key} ASC NULLS LAST"
        words = {
            "key": self.key,
            "value": self.value,
            "responses": self.responses,
            "order": f"{self.key} ASC NULLS LAST" if self.is_series else order,
        }
        for word, text in words.items():
            template = template.replace("{" + word + "}", text)
        return template


GROUPINGS = (
    Grouping("day", "CAST(CAST(started AS DATE) AS STRING)", "responses", is_series=True),
    Grouping("project", "project", "responses"),
    Grouping("model", "model", "model_responses"),
    Grouping("tool", "tool", "tool_responses"),
    Grouping("machine", "machine", "responses"),
)


def views() -> Iterator[View]:
    """All views, each after those that it needs."""
    for file in sorted(SQL.glob("*.sql")):
        number, _, name = file.stem.partition("-")
        query = file.read_text()
        if name == "cost_by":
            yield from (View(f"cost_by_{one.key}", one.fill(query), is_kept=False) for one in GROUPINGS)
        else:
            # The queries below 20 find copies across partitions, and `changed_sessions` what they change.
            yield View(name, query, is_kept=int(number) < 20 or name == "changed_sessions")
