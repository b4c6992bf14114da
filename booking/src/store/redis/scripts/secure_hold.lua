-- Locks a hold's cells for the order that is about to claim them.
local hold = fields_of(hold_key(id), PLAN, ITEMS, LOCK_UNTIL_MS, EXPIRES_MS, CELLS)
local lock_until = hold[LOCK_UNTIL_MS]
if own[STAGE] == 'ordered' then
  -- A further call always sets a later deadline, so undoing one attempt does not undo the next.
  local later = tonumber(lock_until) + 1
  lock_until = tonumber(lock_until_ms) > later and lock_until_ms or string.format('%.0f', later)
  call('HSET', hold_key(id), LOCK_UNTIL_MS, lock_until)
  schedule(id, lock_until, hold[EXPIRES_MS], 'ordered')
  renew(cells_of(hold[ITEMS]), id, lock_until)
  tell(id, visitor, 'ordered', {}, lock_until, hold[EXPIRES_MS], hold[CELLS])
  return answer_hold(id)
end
if hold[PLAN] ~= meta.plan then return answer('PLAN') end
if tonumber(lock_until_ms) > tonumber(lock_until) then lock_until = lock_until_ms end
local all, changed = cells_of(hold[ITEMS]), {}
local lost = regain(all, id, lock_until, changed)
if #lost > 0 then return answer('TAKEN', { cells = packed(lost) }) end
call('HSET', hold_key(id), STAGE, 'ordered', LOCK_UNTIL_MS, lock_until)
schedule(id, lock_until, hold[EXPIRES_MS], 'ordered')
renew(all, id, lock_until)
tell(id, visitor, 'ordered', changed, lock_until, hold[EXPIRES_MS], hold[CELLS])
return answer_hold(id)
