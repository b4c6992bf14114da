-- Notes that these holders have ticketed orders. `cursor` is how far booking's finished orders have
-- been read. A second run changes nothing.
local finished = num(call('HGET', LIFE, 'finished'))
call('HSET', LIFE, 'finished', math.max(finished, tonumber(cursor)))
for holder in each_holders() do
  local numbers, left = {}, call('HGET', K('left_with_pass'), holder)
  local living = call('HGET', K('holders'), holder)
  if living then table.insert(numbers, living) end
  for number in string.gmatch(left or '', '%d+') do table.insert(numbers, number) end
  for _, number in ipairs(numbers) do
    -- A place without a pass cannot have led to the order. Its holder bought with the pass of an
    -- earlier place.
    if call('HEXISTS', K('passes'), number) == 1 and call('SETBIT', K('done'), number, 1) == 0 then
      call('HINCRBY', LIFE, 'done', 1)
      call('ZREM', K('inside'), number)
      call('ZREM', K('active'), number)
      -- Whoever wants more is called again behind all who stand in line.
      call('HSET', K('called_behind'), number, num(call('HGET', LIFE, 'next')))
    end
  end
end
return 1
