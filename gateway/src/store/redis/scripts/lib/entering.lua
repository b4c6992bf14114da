-- Removes the reservations that have lapsed.
local function lapse(now)
  for _, rank in ipairs(call('ZRANGEBYSCORE', K('entering'), '-inf', now)) do
    call('HDEL', K('entering_calls'), rank)
  end
  call('ZREMRANGEBYSCORE', K('entering'), '-inf', now)
end
