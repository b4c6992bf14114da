-- Takes all cells of a hold, or none.
local refused = lock(cells, id, lock_until_ms)
if #refused > 0 then return {'TAKEN', at, packed(refused)} end
return made('basket')
