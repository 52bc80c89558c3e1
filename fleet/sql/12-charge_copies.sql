-- Responses that are not counted. A response that is in several partitions, such as the copied part of a fork, is counted in
-- the one whose bill counts, then the one with the most tokens, then the earliest, then the one whose session began first.
WITH shared AS (
    SELECT message_id
    FROM raw_charges
    WHERE message_id IS NOT NULL
    GROUP BY message_id
    HAVING min(part) <> max(part)
),
held AS (
    SELECT
        raw.message_id,
        raw.part,
        sum(raw.input + raw.output + raw.cache_read + raw.cache_write_5m + raw.cache_write_1h) AS tokens,
        min(raw.started) AS started,
        min(raw.session) AS session
    FROM raw_charges AS raw
    JOIN shared ON shared.message_id = raw.message_id
    GROUP BY raw.message_id, raw.part
),
ranked AS (
    SELECT
        held.message_id,
        held.part,
        row_number() OVER (
            PARTITION BY held.message_id
            ORDER BY
                CASE WHEN copy.part IS NULL THEN 0 ELSE 1 END,
                held.tokens DESC,
                held.started ASC NULLS LAST,
                owner.started ASC NULLS LAST,
                held.session ASC NULLS LAST,
                held.part ASC
        ) AS place
    FROM held
    LEFT JOIN raw_sessions AS owner ON owner.session = held.session AND owner.part = held.part
    LEFT JOIN bill_copies AS copy ON copy.session = held.session AND copy.part = held.part
)
SELECT message_id, part
FROM ranked
WHERE place > 1
