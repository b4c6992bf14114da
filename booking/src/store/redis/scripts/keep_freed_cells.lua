-- Keeps freed cells for the waitlist until `until_ms`. With 0, nobody waits any more and the kept
-- cells become free. Answers with the kept cells.
local ends, stood = tonumber(until_ms), call('ZSCORE', P .. 'deadlines', WAITLIST)
if ends == 0 then
  if stood then disband() end
  return answer('OK', { cells = '' })
end
-- Callers repeat this often, so a new deadline is stored and reported only if it is at least 3 s
-- later.
if not stood or ends - tonumber(stood) >= 3000 then
  call('ZADD', P .. 'deadlines', until_ms, WAITLIST)
  for _, cell in ipairs(call('SMEMBERS', P .. 'waitlist')) do
    if call('GET', P .. 'lock:' .. cell) == WAITLIST then
      call('PEXPIRE', P .. 'lock:' .. cell, net_ms(until_ms))
    end
  end
  tell(WAITLIST, string.rep('\0', 32), 'waitlist', {}, until_ms, until_ms, '0')
end
return answer('OK', { cells = packed(kept_cells(until_ms)) })
