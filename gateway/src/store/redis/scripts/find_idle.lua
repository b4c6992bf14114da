-- Returns the visitors inside who have done nothing since `until_s`, the longest idle first, but at
-- most `most`.
local idle = {}
for _, number in ipairs(call('ZRANGEBYSCORE', K('active'), '-inf', until_s, 'LIMIT', 0, most)) do
  table.insert(idle, named({ number = tonumber(number), holder = leaf_of(tonumber(number)).holder,
    active_s = tonumber(call('ZSCORE', K('active'), number)),
    pass_expires_s = num(call('HGET', K('passes'), number)) }))
end
return idle
