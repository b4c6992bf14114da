-- ARGV: incarnation, rank, whether it was the first. Whoever has no pass yet is waited for as before.
local rank = tonumber(ARGV[2])
if not call('ZSCORE', K('entering'), rank) then return 0 end
if call('HINCRBY', K('entering_calls'), rank, -1) > 0 then return 0 end
call('ZREM', K('entering'), rank)
call('HDEL', K('entering_calls'), rank)
local to = ARGV[3] == '1' and cohort_of(rank)
if to and call('SETBIT', K('answered'), rank, 0) == 1 then
  call('HINCRBY', K('came'), to .. ':answered', -1)
  call('HINCRBY', K('came'), to .. ':came', -1)
end
return 1
