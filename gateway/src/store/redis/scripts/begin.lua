-- ARGV: incarnation, builder, now by the ledger (ms), after how long a silent builder is given up (ms). Empties the room
-- for this builder, unless it lives in this incarnation by now or somebody else is building it.
local life = call('HMGET', LIFE, 'incarnation', 'run_id', 'building', 'built_at', 'next', 'ceiling')
if life[1] == ARGV[1] and life[2] == server() then return 'lives' end
if life[3] and life[3] ~= ARGV[2] and math.abs(tonumber(ARGV[3]) - num(life[4])) < tonumber(ARGV[4]) then
  return 'busy'
end
if num(life[1]) > tonumber(ARGV[1]) then return redis.error_reply('LIFE is ' .. life[1]) end
for at = 0, math.floor(math.max(num(life[5]), num(life[6])) / CHUNK) do call('UNLINK', K('leaves:' .. at)) end
call('UNLINK', LIFE, K('holders'), K('codes'), K('code_of'), K('passes'), K('done'), K('inside'), K('absent'),
  K('left_with_pass'), K('entering'), K('entering_calls'), K('calls'), K('came'), K('answered'), K('called_away'),
  K('feed'), K('vitals'), K('copier'))
call('HSET', LIFE, 'building', ARGV[2], 'builds', ARGV[1], 'built_at', ARGV[3], 'run_id', server())
return 'begun'
