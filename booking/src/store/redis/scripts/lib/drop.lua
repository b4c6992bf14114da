-- Gives a hold's seats back and deletes the hold.
local function drop(id, why)
  local hold = forget(id)
  if not hold then return false end
  local changed = {}
  give_back(unlock(cells_of(hold[ITEMS]), id), changed)
  tell(id, hold[VISITOR], why, changed, '0', hold[EXPIRES_MS], '0')
  return true
end
