-- Answers with the place of a holder.
local known = call('HGET', K('holders'), holder)
return known and place('here', tonumber(known)) or named({ kind = 'unknown' })
