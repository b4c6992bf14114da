-- Deletes at most `holds_max` holds, with their locks, of `life`, which is over. Answers 1 while
-- more may be left.
if call('HGET', META, 'life') == life then return {'OK', 0, 0} end
SEATS = tonumber(call('HGET', META, 'seats')) or 1
local ids = call('ZPOPMIN', P .. 'deadlines', holds_max)
for at = 1, #ids, 2 do
  local items = call('HGET', P .. 'hold:' .. ids[at], 'i')
  for _, cell in ipairs(items and cells_of(items) or {}) do call('UNLINK', P .. 'lock:' .. cell) end
  call('UNLINK', P .. 'hold:' .. ids[at])
end
return {'OK', 0, #ids > 0 and 1 or 0}
