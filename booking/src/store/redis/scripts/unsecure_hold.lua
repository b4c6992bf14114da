-- Makes a hold a basket again until `lock_until_ms`, because the ledger did not accept the claim.
-- `secured_until_ms` is the deadline that the undone attempt had set. If a later call has moved the
-- deadline, the lock stays.
local hold = fields_of(hold_key(id), VISITOR, ITEMS, EXPIRES_MS, CELLS, STAGE, LOCK_UNTIL_MS)
if not hold[VISITOR] then return answer('GONE') end
local is_secured = hold[STAGE] == 'ordered'
  and tonumber(hold[LOCK_UNTIL_MS]) == tonumber(secured_until_ms)
if not is_secured then return answer('OK') end
call('HSET', hold_key(id), STAGE, 'basket', LOCK_UNTIL_MS, lock_until_ms)
schedule(id, lock_until_ms, hold[EXPIRES_MS], 'basket')
renew(cells_of(hold[ITEMS]), id, lock_until_ms)
tell(id, hold[VISITOR], 'basket', {}, lock_until_ms, hold[EXPIRES_MS], hold[CELLS])
return answer('OK')
