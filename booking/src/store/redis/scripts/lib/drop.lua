-- Gives a hold's seats back and deletes the hold.
local function drop(id, why)
  local hold = forget(id)
  if not hold then return false end
  local changed = {}
  give_back(unlock(cells_of(hold[2]), id), changed)
  tell(id, hold[1], why, changed, '0', hold[3], '0')
  return true
end
