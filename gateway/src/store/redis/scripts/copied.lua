-- ARGV: incarnation, the first entry that is not in the ledger yet, numbers that the ledger holds for nobody's.
for at = 3, #ARGV do give_up(tonumber(ARGV[at]), 1) end
call('XTRIM', K('feed'), 'MINID', ARGV[2])
return 1
