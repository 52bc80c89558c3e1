-- Reported costs of sessions that are not counted. The cost that the CLI reported in one partition covers the same responses as
-- that in another, if they have a response in common; then the larger counts, as ccstat does with two logs of a session. Without a
-- response, the cost counts where the session does.
WITH bill AS (
    SELECT
        raw.session,
        raw.part,
        sum(raw.cost_usd) AS cost_usd,
        count(raw.message_id) AS responses
    FROM raw_charges AS raw
    JOIN (SELECT DISTINCT session FROM session_copies) AS shared ON shared.session = raw.session
    WHERE raw.reported
    GROUP BY raw.session, raw.part
),
held AS (
    SELECT DISTINCT raw.session, raw.part, raw.message_id, bill.cost_usd
    FROM raw_charges AS raw
    JOIN bill ON bill.session = raw.session AND bill.part = raw.part
    WHERE raw.reported AND raw.message_id IS NOT NULL
)
SELECT DISTINCT one.session, one.part
FROM held AS one
JOIN held AS other ON
    other.session = one.session
    AND other.message_id = one.message_id
    AND other.part <> one.part
WHERE
    coalesce(other.cost_usd, -1) > coalesce(one.cost_usd, -1)
    OR (coalesce(other.cost_usd, -1) = coalesce(one.cost_usd, -1) AND other.part < one.part)
UNION
SELECT bill.session, bill.part
FROM bill
JOIN session_copies AS copy ON copy.session = bill.session AND copy.part = bill.part
WHERE bill.responses = 0
