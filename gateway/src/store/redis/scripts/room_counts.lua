-- Returns the room's counts.
return counts(tonumber(now_s))
