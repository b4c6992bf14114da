-- The whole show at one point of its feed: the views, and every hold with its deadlines.
local holds = {}
for _, id in ipairs(call('ZRANGE', P .. 'deadlines', 0, -1)) do
  local hold = call('HMGET', P .. 'hold:' .. id, 's', 'u', 'e', 'k')
  if hold[1] then
    local short = call('ZSCORE', P .. 'short', id)
    holds[#holds + 1] = {id, hold[1], hold[2], hold[3], hold[4], short and 1 or 0}
  end
end
local shape = call('HMGET', META, 'life', 'seats', 'legs', 'plan', 'edition')
return {'OK', counter, sub, shape, call('GET', P .. 'held') or '', call('GET', P .. 'sold') or '',
  call('GET', P .. 'blocked') or '', holds}
