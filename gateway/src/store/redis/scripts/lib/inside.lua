-- The score of a visitor inside is the time at which the visitor's entry is free again. Passes are
-- taken for LEEWAY_S longer than they last, for clocks that differ.

-- Counts the visitor of a number with a pass as inside, unless the visitor has bought. The visitor
-- is watched from `at_s` on, unless that is so already.
local function count_inside(number, expires_s, at_s)
  if call('GETBIT', K('done'), number) == 0 then
    call('ZADD', K('inside'), tonumber(expires_s) + LEEWAY_S, number)
    call('ZADD', K('active'), 'NX', at_s, number)
  end
end

-- Frees the entry of a number whose pass is stopped at every node from this time on.
local function free_entry(number, stopped_s)
  call('ZREM', K('active'), number)
  call('ZADD', K('inside'), 'XX', 'LT', stopped_s, number)
end
