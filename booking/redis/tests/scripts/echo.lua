-- Answers with its arguments, with what it reads of a hash, and with the sum of the products of all
-- pairs.
local sum = 0
for pair in each_pairs() do sum = sum + pair.left * pair.right end
call('HSET', COUNTED, 'first', '1', 'second', '2')
local fields = fields_of(COUNTED, 'second', 'never_set')
local pairs_of_hash = {}
for name, value in each_pair(call('HGETALL', COUNTED)) do pairs_of_hash[name] = value end
return named({ text = text, number = tonumber(number), missing = missing, word = word, sum = sum,
  fields = named(fields), pairs_of_hash = named(pairs_of_hash),
  least = only(call('ZRANGE', COUNTED .. ':none', 0, 0)) or 'none' })
