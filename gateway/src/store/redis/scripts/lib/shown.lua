-- The holder of a void number, and a leaf that was never written.
local NOBODY = string.rep('\0', 32)
local UNWRITTEN = string.rep('\0', LEAF)

-- Returns the status of a signed place, and restores a place that was lost with the last life. If a
-- holder has two numbers, the lower one stays, unless the higher one has a pass or another holder
-- used the lower one's code. `at` is when the number was given (ms), and `written` is the same time
-- as 8 bytes.
local function shown(number, holder, written, code, at)
  local living = call('HGET', K('holders'), holder)
  living = living and tonumber(living)
  if living == number then return place('here', number) end
  local leaf = record(number)
  local whose = string.sub(leaf, 1, 32)
  local lost = leaf == '' or leaf == UNWRITTEN
  if whose == holder or (whose == NOBODY and not lost) then
    if living and living < number then return place('here', living) end
    return { 'left' }
  end
  local life = call('HMGET', LIFE, 'first', 'frozen', 'next')
  if not lost or number >= num(life[1]) or (life[2] and number < num(life[2])) then
    if lost and living and living < number and number < num(life[3]) then
      return place('here', living)
    end
    return { 'unknown' }
  end
  -- A holder who has a pass for the higher number would get a second pass for the lower one.
  if living and (living < number or call('HEXISTS', K('passes'), living) == 1) then
    return place('here', living)
  end
  if code ~= '' then
    local used = call('HGET', K('codes'), code)
    if used and used ~= '' and tonumber(used) ~= living then
      if living then return place('here', living) end
      return { 'unknown' }
    end
    call('HSET', K('codes'), code, number)
    call('HSET', K('code_of'), number, code)
  end
  if living then give_up(living, 1) end
  write_record(number, holder, written)
  call('HSET', K('holders'), holder, number)
  mark_absent(number, 0, 1)
  call('XADD', K('feed'), '*', 'k', 'j', 'n', number, 'h', holder, 'a', at, 'c', code)
  return place('here', number)
end
