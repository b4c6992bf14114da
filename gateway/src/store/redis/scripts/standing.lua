-- ARGV: incarnation, number, holder, at (8 bytes), code or '', at (ms).
return shown(tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6])
