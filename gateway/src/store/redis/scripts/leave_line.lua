-- Gives up a place, after the ledger has recorded that the visitor left. A second run changes
-- nothing.
local at = tonumber(number)
local next_number = call('HGET', LIFE, 'next')
if rank ~= '' then
  local cohort = cohort_of(tonumber(rank))
  if cohort then note_answer(cohort, tonumber(rank), false) end
end
free_entry(at, stopped_s)
if at < num(next_number) and call('GETBIT', K('absent'), at) == 0 then give_up(at, 0) end
return 1
