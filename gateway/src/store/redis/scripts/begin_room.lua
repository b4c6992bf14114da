-- Empties the room for this builder, unless the room lives in this incarnation already or another
-- node is building it. `now_ms` is by the ledger's clock. A builder that is silent for `silent_ms`
-- counts as dead.
local life = fields_of(LIFE, 'incarnation', 'run_id', 'building', 'built_at', 'next', 'ceiling')
if life.incarnation == incarnation and life.run_id == server() then return 'lives' end
local silent = math.abs(tonumber(now_ms) - num(life.built_at)) >= tonumber(silent_ms)
if life.building and life.building ~= builder and not silent then return 'busy' end
if num(life.incarnation) > tonumber(incarnation) then
  return redis.error_reply('LIFE is ' .. life.incarnation)
end
for at = 0, math.floor(math.max(num(life.next), num(life.ceiling)) / CHUNK) do
  call('UNLINK', K('leaves:' .. at))
end
call('UNLINK', LIFE, K('holders'), K('codes'), K('code_of'), K('passes'), K('done'), K('inside'),
  K('absent'), K('left_with_pass'), K('entering'), K('entering_calls'), K('calls'), K('came'),
  K('answered'), K('called_away'), K('feed'), K('vitals'), K('copier'),
  K('door'), K('door_until'), K('wishes'), K('wish_changes'), K('moved'), K('ever_away'),
  K('active'), K('called_behind'), K('excused'), K('lapses'))
forget_epochs(function() return true end)
call('HSET', LIFE, 'building', builder, 'builds', incarnation, 'built_at', now_ms, 'run_id', server())
return 'begun'
