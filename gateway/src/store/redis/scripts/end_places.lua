-- Takes numbers from their visitors, after the ledger has recorded that the promoter ended the
-- places. Their leaves stay in the draw. A second run changes nothing.
local next_number = num(call('HGET', LIFE, 'next'))
for ended in each_places() do
  local at, rank = tonumber(ended.number), tonumber(ended.rank)
  if rank then
    local cohort = cohort_of(rank)
    if cohort then note_answer(cohort, rank, false) end
  end
  free_entry(at, ended.stopped_s)
  if at < next_number and call('GETBIT', K('absent'), at) == 0 then give_up(at, 0) end
end
return 1
