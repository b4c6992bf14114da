-- What is known of the last visit of each number. A visit begins with a pass and ends with it.

-- Returns below which rank all are called before a number whose visit ends now is called again.
local function behind_now(number)
  if call('HEXISTS', K('excused'), number) == 1 then return 0 end
  return num(call('HGET', LIFE, 'next'))
end

-- Returns below which rank all are called before this number is called again, or false if it never
-- had a pass. If its last visit has not ended yet, it ends now.
local function called_behind(number)
  if call('HEXISTS', K('passes'), number) == 0 then return false end
  return num(call('HGET', K('called_behind'), number) or behind_now(number))
end

-- Notes that the visit of a number has ended, unless that is known.
local function end_visit(number)
  call('ZREM', K('active'), number)
  if call('HEXISTS', K('called_behind'), number) == 0 then
    call('HSET', K('called_behind'), number, behind_now(number))
  end
end
