-- Notes that the visitor of a number fills in the checkout of the baskets that were made by now.
local key = K('baskets:' .. number)
if call('EXISTS', key) == 1 then call('HSET', key, 'checkout_at', at_ms) end
return 1
