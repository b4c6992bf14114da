-- ARGV: incarnation, then number, holder, at (8 bytes), code or '', at (ms) of each place that is shown.
for at = 2, #ARGV, 5 do shown(tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]) end
return 1
