-- Fills in codes, each with the number that used it, or '' if the code is unused.
for filled in each_codes() do call('HSET', K('codes'), filled.code, filled.number) end
return 1
