-- Sessions in several partitions whose cost the CLI reported. That cost covers the whole session, so what other partitions
-- compute for it, such as for subagents that were torn off, is not added.
SELECT DISTINCT raw.session
FROM raw_charges AS raw
JOIN (SELECT DISTINCT session FROM session_copies) AS shared ON shared.session = raw.session
WHERE raw.reported
