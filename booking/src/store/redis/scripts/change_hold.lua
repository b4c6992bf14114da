-- Gives some seats of a basket back and takes others, all or nothing. `add` has the items to take.
-- `remove` has the seats to give back, 4 bytes each. `wish` is a digest of both.
if stage ~= 'basket' then return {'ORDERED', at} end
local items, lock_until, expires, last = unpack(call('HMGET', hold, 'i', 'u', 'e', 'c'))
-- If the last change had the same wish, this is a repeated call. The change was already made.
if last == wish then return answer(id) end
local leaving, strangers, kept, out = {}, {}, {}, {}
for n = 1, #remove, 4 do leaving[struct.unpack("<I4", remove, n)] = true end
for n = 1, #items, 16 do
  local item = string.sub(items, n, n + 15)
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
if #strangers > 0 then return {'NOTHELD', at, packed(strangers)} end
local coming, going, had = #add / 16, #out, have(visitor)
if coming > going and had + coming - going > tonumber(limit) then return {'LIMIT', at, had} end
local taken = cells_of(add)
local refused = lock(taken, id, lock_until)
if #refused > 0 then return {'TAKEN', at, packed(refused)} end
local changed = {}
give_back(unlock(cells_of(table.concat(out)), id), changed)
mark(taken, 1, changed)
items = table.concat(kept) .. add
local cells = #cells_of(items)
call('HSET', hold, 'i', items, 'n', side_by_side, 'c', wish, 'k', cells)
count('has', visitor, coming - going)
tell(id, visitor, 'basket', changed, lock_until, expires, cells)
return answer(id)
