-- All cells of a hold, or none, out of those that are free or kept for the waitlist.
local refused = lock_kept(cells, id, lock_until_ms)
if #refused > 0 then return {'TAKEN', at, packed(refused)} end
return made('offered')
