-- Sessions whose row of a partition is not the whole truth: they are in several partitions, or a part of their responses or
-- calls is counted elsewhere.
SELECT session FROM session_copies
UNION
SELECT raw.session
FROM raw_charges AS raw
JOIN charge_copies AS copy ON copy.message_id = raw.message_id AND copy.part = raw.part
WHERE raw.session IS NOT NULL
UNION
SELECT raw.session
FROM raw_calls AS raw
JOIN call_copies AS copy ON copy.tool_use_id = raw.id AND copy.part = raw.part
WHERE raw.session IS NOT NULL
