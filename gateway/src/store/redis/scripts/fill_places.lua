-- Fills in places from the ledger.
for number, holder, written, living, done, code in each_places() do
  local at = tonumber(number)
  write_record(at, holder, written)
  if living == '1' then call('HSET', K('holders'), holder, at) end
  if done == '1' then call('SETBIT', K('done'), at, 1) end
  if code ~= '' then call('HSET', K('code_of'), at, code) end
end
return 1
