-- Trims the entries that the ledger has, and takes the numbers from their holders that are void
-- there.
for number in each_nobodys() do give_up(tonumber(number), 1) end
call('XTRIM', K('feed'), 'MINID', first_left)
return 1
