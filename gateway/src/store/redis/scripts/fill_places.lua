-- Fills in places from the ledger.
for number, holder, written, living, done, code, networks in each_places() do
  local at = tonumber(number)
  write_record(at, holder, written)
  if living == '1' then call('HSET', K('holders'), holder, at) end
  if done == '1' then call('SETBIT', K('done'), at, 1) end
  if code ~= '' then call('HSET', K('code_of'), at, code) end
  for from = 1, #networks, 8 do
    count_place(string.sub(networks, from, from + 7))
  end
end
return 1
