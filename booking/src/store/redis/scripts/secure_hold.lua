-- Locks a hold's cells for the order that is about to claim them.
local plan, items, lock_until, expires, cells = unpack(call('HMGET', hold, 'p', 'i', 'u', 'e', 'k'))
if stage == 'ordered' then
  -- A further call always sets a later deadline, so undoing one attempt does not undo the next.
  local later = tonumber(lock_until) + 1
  lock_until = tonumber(lock_until_ms) > later and lock_until_ms or string.format('%.0f', later)
  call('HSET', hold, 'u', lock_until)
  schedule(id, lock_until, expires, 'ordered')
  renew(cells_of(items), id, lock_until)
  tell(id, visitor, 'ordered', {}, lock_until, expires, cells)
  return answer(id)
end
if plan ~= meta[5] then return {'PLAN', at} end
if tonumber(lock_until_ms) > tonumber(lock_until) then lock_until = lock_until_ms end
local all, changed = cells_of(items), {}
local lost = regain(all, id, lock_until, changed)
if #lost > 0 then return {'TAKEN', at, packed(lost)} end
call('HSET', hold, 's', 'ordered', 'u', lock_until)
schedule(id, lock_until, expires, 'ordered')
renew(all, id, lock_until)
tell(id, visitor, 'ordered', changed, lock_until, expires, cells)
return answer(id)
