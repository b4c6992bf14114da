-- Reserves a wait after the last wait of the network, unless the visitor would wait for longer than
-- `longest_ms`. Returns the time (ms) at which the last wait ends. From this time
-- `WaitRequest::after` comes to the same decision.
local key, now = K('wait:' .. network), tonumber(now_ms)
local last = math.max(now, num(call('GET', key)))
local ends = last + tonumber(takes_ms)
if ends - now <= tonumber(longest_ms) then
  call('SET', key, string.format('%d', ends), 'PX', ends - now)
end
return last
