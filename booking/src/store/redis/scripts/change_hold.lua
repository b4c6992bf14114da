-- Gives some seats of a basket back and takes others, all or nothing. `add` has the items to take.
-- `remove` has the seats to give back, 4 bytes each. `wish` is a digest of both.
if own[STAGE] ~= 'basket' then return answer('ORDERED') end
local basket = fields_of(hold_key(id), ITEMS, LOCK_UNTIL_MS, EXPIRES_MS, CHANGE)
-- If the last change had the same wish, this is a repeated call. The change was already made.
if basket[CHANGE] == wish then return answer_hold(id) end
local leaving, strangers, kept, out = {}, {}, {}, {}
for n = 1, #remove, 4 do leaving[struct.unpack("<I4", remove, n)] = true end
for n = 1, #basket[ITEMS], 16 do
  local item = string.sub(basket[ITEMS], n, n + 15)
  local seat = struct.unpack('<I4', item)
  if leaving[seat] == nil then
    kept[#kept + 1] = item
  else
    out[#out + 1] = item
    leaving[seat] = false
  end
end
for seat, missing in pairs(leaving) do
  if missing then strangers[#strangers + 1] = seat end
end
if #strangers > 0 then return answer('NOTHELD', { cells = packed(strangers) }) end
local coming, going, had = #add / 16, #out, have(visitor)
if coming > going and had + coming - going > tonumber(limit) then
  return answer('LIMIT', { had = had })
end
local taken = cells_of(add)
local refused = lock(taken, id, basket[LOCK_UNTIL_MS])
if #refused > 0 then return answer('TAKEN', { cells = packed(refused) }) end
local changed = {}
give_back(unlock(cells_of(table.concat(out)), id), changed)
mark(taken, 1, changed)
local items = table.concat(kept) .. add
local cells = #cells_of(items)
call('HSET', hold_key(id), ITEMS, items, SIDE_BY_SIDE, side_by_side, CHANGE, wish, CELLS, cells)
count('has', visitor, coming - going)
tell(id, visitor, 'basket', changed, basket[LOCK_UNTIL_MS], basket[EXPIRES_MS], cells)
return answer_hold(id)
