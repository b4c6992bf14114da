-- Somebody waits: what comes free is kept until the moment ARGV[4], or nobody does any more where that is 0. Answers with
-- the cells that are kept.
local until_ms, stood = tonumber(ARGV[4]), call('ZSCORE', P .. 'deadlines', WAITLIST)
if until_ms == 0 then
  if stood then disband() end
  return {'OK', at, ''}
end
-- Said again and again; only now and then is it worth a line in the feed.
if not stood or until_ms - tonumber(stood) >= 3000 then
  call('ZADD', P .. 'deadlines', ARGV[4], WAITLIST)
  for _, cell in ipairs(call('SMEMBERS', P .. 'waitlist')) do
    if call('GET', P .. 'lock:' .. cell) == WAITLIST then call('PEXPIRE', P .. 'lock:' .. cell, net_ms(ARGV[4])) end
  end
  tell(WAITLIST, string.rep('\0', 32), 'waitlist', {}, ARGV[4], ARGV[4], '0')
end
return {'OK', at, packed(kept_cells(ARGV[4]))}
