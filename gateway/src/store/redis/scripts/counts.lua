-- ARGV: incarnation, now (s).
return counts(tonumber(ARGV[2]))
