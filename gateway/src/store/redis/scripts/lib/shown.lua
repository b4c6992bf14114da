-- The holder of a void number, and a leaf that was never written.
local NOBODY = string.rep('\0', 32)
local UNWRITTEN = string.rep('\0', LEAF)

-- Answers with the status of a signed place, and restores a place that was lost with the last life.
-- If a holder has two numbers, the lower one stays, unless the higher one has a pass or another
-- holder used the lower one's code. In `signed`, `at_ms` is when the number was given, and
-- `written` is the same time as 8 bytes.
local function shown(signed)
  local number, holder, code = tonumber(signed.number), signed.holder, signed.code
  local living = call('HGET', K('holders'), holder)
  living = living and tonumber(living)
  if living == number then return place('here', number) end
  local leaf = leaf_of(number)
  local lost = leaf.bytes == '' or leaf.bytes == UNWRITTEN
  if leaf.holder == holder or (leaf.holder == NOBODY and not lost) then
    if living and living < number then return place('here', living) end
    return named({ kind = 'left' })
  end
  local life = fields_of(LIFE, 'first', 'frozen', 'next')
  if not lost or number >= num(life.first) or (life.frozen and number < num(life.frozen)) then
    if lost and living and living < number and number < num(life.next) then
      return place('here', living)
    end
    return named({ kind = 'unknown' })
  end
  -- A holder who has a pass for the higher number would get a second pass for the lower one.
  if living and (living < number or call('HEXISTS', K('passes'), living) == 1) then
    return place('here', living)
  end
  if code ~= '' then
    local used = call('HGET', K('codes'), code)
    if used and used ~= '' and tonumber(used) ~= living then
      if living then return place('here', living) end
      return named({ kind = 'unknown' })
    end
    call('HSET', K('codes'), code, number)
    call('HSET', K('code_of'), number, code)
  end
  if living then give_up(living, 1) end
  write_leaf(number, holder, signed.written)
  call('HSET', K('holders'), holder, number)
  mark_absent(number, 0, 1)
  feed_join({ number = number, holder = holder, at_ms = signed.at_ms, code = code, networks = '' })
  return place('here', number)
end
