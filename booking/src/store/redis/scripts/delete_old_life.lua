-- Deletes at most `holds_max` holds of the ended life `life`, with their locks. `more` is 1 if
-- holds were deleted, because more may be left, and otherwise 0.
if call('HGET', META, 'life') == life then return named({ code = 'OK', more = 0 }) end
SEATS = tonumber(call('HGET', META, 'seats')) or 1
local more = 0
for id in each_pair(call('ZPOPMIN', P .. 'deadlines', holds_max)) do
  local items = call('HGET', hold_key(id), ITEMS)
  for _, cell in ipairs(items and cells_of(items) or {}) do call('UNLINK', P .. 'lock:' .. cell) end
  call('UNLINK', hold_key(id))
  more = 1
end
return named({ code = 'OK', more = more })
