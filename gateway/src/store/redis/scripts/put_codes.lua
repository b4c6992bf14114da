-- Writes a batch of new codes while joins are paused. The first batch replaces all old codes, and
-- the last one ends the pause. Returns 0 if joins are not paused.
if call('HEXISTS', LIFE, 'codes_since') == 0 then return 0 end
if is_first == '1' then call('UNLINK', K('codes')) end
for code in each_codes() do call('HSET', K('codes'), code, '') end
if is_last == '1' then call('HDEL', LIFE, 'codes_since') end
return 1
