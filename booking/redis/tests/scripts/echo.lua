-- Returns its arguments, a nil, and the sum of the products of all pairs.
local sum = 0
for left, right in each_pairs() do sum = sum + left * right end
return {text, tonumber(number), false, missing, word, sum}
