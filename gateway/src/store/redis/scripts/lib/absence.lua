-- Nobody stands at the number any more, or somebody again. `void` is 1 where the number is nobody's
-- at all, and 0 where somebody left it: who left still counts as somebody who joined.
local function mark_absent(number, absent, void)
  if call('SETBIT', K('absent'), number, absent) ~= absent then
    call('HINCRBY', LIFE, 'absent', absent * 2 - 1)
    call('HINCRBY', LIFE, 'void', void * (absent * 2 - 1))
    call('HINCRBY', LIFE, 'absent_version', 1)
  end
end

-- Whoever leaves with a pass can buy with it all the same, so the number is kept under its holder.
local function note_left(number, holder)
  if call('HEXISTS', K('passes'), number) == 1 then
    local before = call('HGET', K('left_with_pass'), holder)
    call('HSET', K('left_with_pass'), holder, before and (before .. ',' .. number) or number)
  end
end
