-- Removes from the feed the entries that the ledger has. Takes the numbers in `nobodys` from their
-- holders, because the ledger made them void or refused them.
for number in each_nobodys() do give_up(tonumber(number), 1) end
call('XTRIM', K('feed'), 'MINID', first_left)
return 1
