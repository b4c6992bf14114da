-- ARGV: incarnation, asker, now by the ledger (ms), after how long a silent builder is given up (ms). 1 while somebody
-- else fills the room in for that incarnation: whoever began the next one meanwhile would make its work void.
local life = call('HMGET', LIFE, 'building', 'builds', 'built_at', 'run_id')
local by_other = life[1] and life[1] ~= ARGV[2] and life[2] == ARGV[1] and life[4] == server()
if by_other and math.abs(tonumber(ARGV[3]) - num(life[3])) < tonumber(ARGV[4]) then return 1 end
return 0
