-- ARGV: incarnation, number, rank or '', at (ms). Leaving twice is leaving once.
local number = tonumber(ARGV[2])
local life = call('HMGET', LIFE, 'next', 'frozen')
if ARGV[3] ~= '' then
  local to = cohort_of(tonumber(ARGV[3]))
  if to then answered(to, tonumber(ARGV[3]), false) end
end
if number < num(life[1]) and call('GETBIT', K('absent'), number) == 0 then
  give_up(number)
  -- After the freeze a leaf below n is part of the published root, and one from n on is nobody's business.
  call('XADD', K('feed'), '*', 'k', 'l', 'n', number, 'a', ARGV[4], 'v', life[2] and '0' or '1')
end
return 1
