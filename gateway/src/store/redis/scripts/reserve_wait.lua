-- Puts a wait behind the last wait of the network, unless it would last longer than `longest_ms`.
-- Returns when the wait before it ends (ms). `WaitRequest::after` decides the same from this time.
local key, now = K('wait:' .. network), tonumber(now_ms)
local last = math.max(now, num(call('GET', key)))
local ends = last + tonumber(takes_ms)
if ends - now <= tonumber(longest_ms) then
  call('SET', key, string.format('%d', ends), 'PX', ends - now)
end
return last
