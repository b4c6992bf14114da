-- Takes a number from its holder, and forgets its wishes. `void` means the same as for mark_absent.
local function give_up(number, void)
  local holder = leaf_of(number).holder
  local living = call('HGET', K('holders'), holder)
  if num(living or -1) == number then call('HDEL', K('holders'), holder) end
  if call('HDEL', K('wishes'), number) == 1 then
    call('ZADD', K('wish_changes'), call('HINCRBY', LIFE, 'wish_version', 1), number)
  end
  if call('GETBIT', K('absent'), number) == 0 then
    note_left(number, holder)
    mark_absent(number, 1, void)
  end
end
