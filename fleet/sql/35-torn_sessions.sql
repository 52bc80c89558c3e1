-- Sessions that are in several partitions, one row for each partition. They are counted once, but logs that belong together
-- should be in one partition: only there ccstat sees all of a session, such as the origin of a fork.
SELECT
    raw.session,
    raw.part,
    copy.part IS NULL AS counted,
    raw.project,
    raw.started,
    raw.input + raw.output + raw.cache_read + raw.cache_write_5m + raw.cache_write_1h AS tokens,
    raw.cost_usd
FROM raw_sessions AS raw
JOIN (SELECT DISTINCT session FROM session_copies) AS shared ON shared.session = raw.session
LEFT JOIN session_copies AS copy ON copy.session = raw.session AND copy.part = raw.part
ORDER BY raw.session ASC, raw.part ASC
