-- Pauses joins until the room's new codes are written. Returns 0 and pauses nothing if somebody may
-- have joined with the old codes. `now_ms` is by the ledger's clock.
if num(call('HGET', LIFE, 'next')) > 0 then return 0 end
call('HSET', LIFE, 'codes_since', now_ms)
return 1
