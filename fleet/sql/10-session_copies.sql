-- Rows of sessions that are not counted. A session that is in several partitions is counted in one of them: the one with
-- the most tokens, then the earliest.
WITH shared AS (
    SELECT session
    FROM raw_sessions
    WHERE session IS NOT NULL
    GROUP BY session
    HAVING min(part) <> max(part)
),
ranked AS (
    SELECT
        raw.session,
        raw.part,
        row_number() OVER (
            PARTITION BY raw.session
            ORDER BY
                raw.input + raw.output + raw.cache_read + raw.cache_write_5m + raw.cache_write_1h DESC,
                raw.started ASC NULLS LAST,
                raw.part ASC
        ) AS place
    FROM raw_sessions AS raw
    JOIN shared ON shared.session = raw.session
)
SELECT session, part
FROM ranked
WHERE place > 1
