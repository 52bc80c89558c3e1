-- Costs, each response once. A charge without a response is counted where its bill or session is. A
-- session has either reported or computed tokens and cost, never both, and each reported cost once.
SELECT
    raw.started,
    coalesce(raw.session, 'source:' || raw.source) AS session_key,
    raw.session,
    raw.project,
    raw.machine,
    raw.agent,
    raw.model,
    raw.tool,
    raw.version,
    raw.message_id,
    raw.responses,
    raw.model_responses,
    raw.tool_responses,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.input ELSE 0 END AS input,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.output ELSE 0 END AS output,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.cache_read ELSE 0 END AS cache_read,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.cache_write_5m ELSE 0 END AS cache_write_5m,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.cache_write_1h ELSE 0 END AS cache_write_1h,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.web_searches ELSE 0 END AS web_searches,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.cost_usd END AS cost_usd,
    raw.reported,
    raw.computed_usd,
    CASE WHEN billed.session IS NULL AND dropped.session IS NULL THEN raw.cache_saved_usd END AS cache_saved_usd,
    raw.part
FROM raw_charges AS raw
LEFT JOIN reported_sessions AS billed ON billed.session = raw.session AND NOT raw.reported
LEFT JOIN bill_copies AS dropped ON dropped.session = raw.session AND dropped.part = raw.part AND raw.reported
WHERE
    NOT EXISTS (
        SELECT 1 FROM charge_copies AS copy WHERE copy.message_id = raw.message_id AND copy.part = raw.part
    )
    AND NOT EXISTS (
        SELECT 1
        FROM session_copies AS copy
        WHERE raw.message_id IS NULL AND NOT raw.reported AND copy.session = raw.session AND copy.part = raw.part
    )
    AND NOT (raw.message_id IS NULL AND dropped.session IS NOT NULL)
