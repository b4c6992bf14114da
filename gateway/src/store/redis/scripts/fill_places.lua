-- Fills in places from the ledger.
for filled in each_places() do
  local at = tonumber(filled.number)
  write_leaf(at, filled.holder, filled.written)
  if filled.living == '1' then call('HSET', K('holders'), filled.holder, at) end
  if filled.done == '1' then call('SETBIT', K('done'), at, 1) end
  if filled.code ~= '' then call('HSET', K('code_of'), at, filled.code) end
  for from = 1, #filled.networks, 8 do
    count_lasting_place(string.sub(filled.networks, from, from + 7))
  end
  if slice_of(filled.at_ms) >= slice_of(now_ms) - RECENT_SLICES then
    for from = 1, #filled.recent_networks, 8 do
      count_recent_place(string.sub(filled.recent_networks, from, from + 7), filled.at_ms)
    end
  end
end
return 1
