-- Marks a number as without a visitor, or with one again. `void` is 1 if the number is nobody's at
-- all, and 0 if its visitor left, who still counts as somebody who joined.
local function mark_absent(number, absent, void)
  if call('SETBIT', K('absent'), number, absent) ~= absent then
    call('HINCRBY', LIFE, 'absent', absent * 2 - 1)
    call('HINCRBY', LIFE, 'void', void * (absent * 2 - 1))
    call('HINCRBY', LIFE, 'absent_version', 1)
  end
end

-- Keeps a number under its holder who left with a pass, because the pass can still buy.
local function note_left(number, holder)
  if call('HEXISTS', K('passes'), number) == 1 then
    local before = call('HGET', K('left_with_pass'), holder)
    call('HSET', K('left_with_pass'), holder, before and (before .. ',' .. number) or number)
  end
end
