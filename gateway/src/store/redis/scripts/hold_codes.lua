-- ARGV: incarnation, now by the ledger (ms). From here on joins wait for the room's new codes. 0 where somebody may have
-- joined with the old ones.
if num(call('HGET', LIFE, 'next')) > 0 then return 0 end
call('HSET', LIFE, 'codes_since', ARGV[2])
return 1
