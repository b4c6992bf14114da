-- Takes all cells of a hold, or none.
local refused = lock(cells, id, lock_until_ms)
if #refused > 0 then return answer('TAKEN', { cells = packed(refused) }) end
return made('basket')
