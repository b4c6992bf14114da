-- Makes joins wait for the room's new codes. Returns 0 if somebody may have joined with the old
-- ones. `now_ms` is by the ledger's clock.
if num(call('HGET', LIFE, 'next')) > 0 then return 0 end
call('HSET', LIFE, 'codes_since', now_ms)
return 1
