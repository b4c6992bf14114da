-- Takes all cells of a hold, or none. Cells that are kept for the waitlist count as free.
local refused = lock_kept(cells, id, lock_until_ms)
if #refused > 0 then return answer('TAKEN', { cells = packed(refused) }) end
return made('offered')
