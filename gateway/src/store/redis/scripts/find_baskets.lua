-- Returns the baskets of a number, and when its visitor last filled in a checkout.
local baskets, checkout_at = {}, nil
for hold, at in each_pair(call('HGETALL', K('baskets:' .. number))) do
  if hold == 'checkout_at' then
    checkout_at = at
  else
    table.insert(baskets, named({ hold = hold, at_ms = num(at) }))
  end
end
return named({ baskets = baskets, checkout_at = num(checkout_at) })
