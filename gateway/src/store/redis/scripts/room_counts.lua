-- Answers with the room's counts.
return named(counts(tonumber(now_s)))
