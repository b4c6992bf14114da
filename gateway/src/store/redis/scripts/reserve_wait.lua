-- Puts a wait behind the last wait of the network, and returns when it ends (ms).
local key, now = K('wait:' .. network), tonumber(now_ms)
local ends = math.max(now, num(call('GET', key))) + tonumber(takes_ms)
call('SET', key, string.format('%d', ends), 'PX', ends - now)
return ends
