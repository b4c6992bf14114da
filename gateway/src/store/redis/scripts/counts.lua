-- The figures now.
return counts(tonumber(now_s))
