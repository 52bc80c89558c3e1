-- Tool calls that are not counted. A call that is in several partitions is counted where its result is, then where its
-- latency is known, then in the earliest.
WITH shared AS (
    SELECT id
    FROM raw_calls
    WHERE id IS NOT NULL
    GROUP BY id
    HAVING min(part) <> max(part)
),
held AS (
    SELECT
        raw.id,
        raw.part,
        max(CASE WHEN raw.end = 'open' THEN 0 WHEN raw.latency_ms IS NULL THEN 1 ELSE 2 END) AS known,
        min(raw.started) AS started
    FROM raw_calls AS raw
    JOIN shared ON shared.id = raw.id
    GROUP BY raw.id, raw.part
),
ranked AS (
    SELECT
        id,
        part,
        row_number() OVER (PARTITION BY id ORDER BY known DESC, started ASC NULLS LAST, part ASC) AS place
    FROM held
)
SELECT id AS tool_use_id, part
FROM ranked
WHERE place > 1
