-- Results that are not counted. Copies of a result have the same session, time, duration and number of steps; the one with
-- the smallest cost counts, since a cost is a difference to the result before it.
WITH held AS (
    SELECT
        raw.session,
        raw.ended,
        raw.wall_ms,
        raw.num_turns,
        raw.part,
        min(raw.cost_usd) AS cost_usd
    FROM raw_turns AS raw
    JOIN (SELECT DISTINCT session FROM session_copies) AS shared ON shared.session = raw.session
    GROUP BY raw.session, raw.ended, raw.wall_ms, raw.num_turns, raw.part
),
ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY session, ended, wall_ms, num_turns
            ORDER BY cost_usd ASC NULLS LAST, part ASC
        ) AS place
    FROM held
)
SELECT session, ended, wall_ms, num_turns, part
FROM ranked
WHERE place > 1
