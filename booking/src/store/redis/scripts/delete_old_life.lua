-- Deletes at most `holds_max` holds of the ended life `life`, with their locks. Answers with 1 if
-- holds were deleted, because more may be left, and otherwise with 0.
if call('HGET', META, 'life') == life then return {'OK', 0, 0} end
SEATS = tonumber(call('HGET', META, 'seats')) or 1
local ids = call('ZPOPMIN', P .. 'deadlines', holds_max)
for at = 1, #ids, 2 do
  local items = call('HGET', P .. 'hold:' .. ids[at], 'i')
  for _, cell in ipairs(items and cells_of(items) or {}) do call('UNLINK', P .. 'lock:' .. cell) end
  call('UNLINK', P .. 'hold:' .. ids[at])
end
return {'OK', 0, #ids > 0 and 1 or 0}
