-- Returns its arguments.
local sum = 0
for left, right in each_pairs() do sum = sum + left * right end
return {text, tonumber(number), false, missing, word, sum}
