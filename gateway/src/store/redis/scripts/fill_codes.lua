-- Fills in codes, each with the number that used it, or '' if the code is unused.
for code, number in each_codes() do call('HSET', K('codes'), code, number) end
return 1
