-- A cohort is the ranks that one tick called. Its name is the rank after the last of them. Returns
-- the cohort of a rank, or nil if the cohort's window has ended or the rank's visitor was away when
-- called.
local function cohort_of(rank)
  local found = call('ZRANGEBYSCORE', K('calls'), '(' .. rank, '+inf', 'LIMIT', 0, 1)[1]
  if not found then return nil end
  local from, to = string.match(found, '^(%d+):(%d+):')
  if rank < tonumber(from) or call('GETBIT', K('called_away'), rank) == 1 then return nil end
  return to
end

-- Notes that the visitor of a called rank came or left, and is no longer expected.
local function answered(to, rank, came)
  if call('SETBIT', K('answered'), rank, 1) == 0 then
    call('HINCRBY', K('came'), to .. ':answered', 1)
    if came then call('HINCRBY', K('came'), to .. ':came', 1) end
  end
end
