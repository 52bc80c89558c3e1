-- Denials and errors, each once: those of a call where the call is counted, those of a result where the result is, all others
-- where their session is.
SELECT
    raw.sort,
    raw.name,
    raw.started,
    CAST(raw.wait_ms AS DECIMAL(18, 3)) AS wait_ms,
    raw.agent,
    coalesce(raw.session, 'source:' || raw.source) AS session_key,
    raw.session,
    raw.project,
    raw.version,
    raw.tool_use_id,
    raw.part
FROM raw_failures AS raw
WHERE
    NOT EXISTS (
        SELECT 1 FROM call_copies AS copy WHERE copy.tool_use_id = raw.tool_use_id AND copy.part = raw.part
    )
    AND NOT EXISTS (
        SELECT 1
        FROM turn_copies AS copy
        WHERE
            raw.sort = 'turn'
            AND copy.session = raw.session
            AND copy.part = raw.part
            AND copy.ended IS NOT DISTINCT FROM raw.started
    )
    AND NOT EXISTS (
        SELECT 1
        FROM session_copies AS copy
        WHERE
            raw.tool_use_id IS NULL
            AND raw.sort <> 'turn'
            AND copy.session = raw.session
            AND copy.part = raw.part
    )
