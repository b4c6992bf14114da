-- Runs first in every script that needs the room to live. Fails if Redis lost the room or went back
-- to older data. Such a Redis must not give a number, a pass or a figure. `incarnation` is the life
-- that the caller knows from the ledger.
local stored_life = fields_of(LIFE, 'incarnation', 'run_id')
if not stored_life.incarnation then return redis.error_reply('LIFE missing') end
if stored_life.incarnation ~= incarnation then
  return redis.error_reply('LIFE is ' .. stored_life.incarnation)
end
if stored_life.run_id ~= server() then return redis.error_reply('LIFE of another server') end
