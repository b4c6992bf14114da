-- Marks that a number has no visitor (`absent` is 1), or has a visitor again (0). `void` is 1 if
-- the number becomes void or was void. It is 0 if the visitor left, because a visitor who left
-- still counts as joined.
local function mark_absent(number, absent, void)
  if call('SETBIT', K('absent'), number, absent) ~= absent then
    call('HINCRBY', LIFE, 'absent', absent * 2 - 1)
    call('HINCRBY', LIFE, 'void', void * (absent * 2 - 1))
    call('HINCRBY', LIFE, 'absent_version', 1)
  end
end

-- If the number has a pass, stores the number under its holder. The holder can still buy with the
-- pass after leaving.
local function note_left(number, holder)
  if call('HEXISTS', K('passes'), number) == 1 then
    local before = call('HGET', K('left_with_pass'), holder)
    call('HSET', K('left_with_pass'), holder, before and (before .. ',' .. number) or number)
  end
end
