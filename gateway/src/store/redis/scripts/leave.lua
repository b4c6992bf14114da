-- ARGV: incarnation, number, rank or ''. The ledger has it already. Leaving twice is leaving once.
local number = tonumber(ARGV[2])
local life = call('HGET', LIFE, 'next')
if ARGV[3] ~= '' then
  local to = cohort_of(tonumber(ARGV[3]))
  if to then answered(to, tonumber(ARGV[3]), false) end
end
if number < num(life) and call('GETBIT', K('absent'), number) == 0 then give_up(number, 0) end
return 1
