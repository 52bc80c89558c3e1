-- Results of prompts, each once.
SELECT
    raw.ended,
    raw.session,
    raw.project,
    raw.subtype,
    raw.ok,
    CAST(raw.wall_ms AS DECIMAL(18, 3)) AS wall_ms,
    CAST(raw.api_ms AS DECIMAL(18, 3)) AS api_ms,
    raw.num_turns,
    raw.cost_usd,
    raw.part
FROM raw_turns AS raw
WHERE
    NOT EXISTS (
        SELECT 1
        FROM turn_copies AS copy
        WHERE
            copy.session = raw.session
            AND copy.part = raw.part
            AND copy.num_turns = raw.num_turns
            AND copy.ended IS NOT DISTINCT FROM raw.ended
            AND copy.wall_ms IS NOT DISTINCT FROM raw.wall_ms
    )
