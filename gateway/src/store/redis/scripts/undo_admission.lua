-- Undoes an admission whose claim could not be written. If another call of the same visitor still
-- uses the reservation, the reservation stays. A visitor who never had a pass is expected as
-- before, unless the visitor has left.
local ranked = tonumber(rank)
if not call('ZSCORE', K('entering'), ranked) then return 0 end
if call('HINCRBY', K('entering_calls'), ranked, -1) > 0 then return 0 end
call('ZREM', K('entering'), ranked)
call('HDEL', K('entering_calls'), ranked)
local cohort = is_first == '1' and cohort_of(ranked)
if cohort and call('SETBIT', K('answered'), ranked, 0) == 1 then
  call('HINCRBY', K('came'), cohort.answered_field, -1)
  call('HINCRBY', K('came'), cohort.came_field, -1)
  -- The visitor may have left while the claim was being written.
  if call('GETBIT', K('absent'), number) == 1 then note_answer(cohort, ranked, false) end
end
return 1
