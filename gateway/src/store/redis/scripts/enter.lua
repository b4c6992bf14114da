-- ARGV: incarnation, number, rank, the caller's release counter, max_inside, whether there is a line, now (ms), when the
-- way in lapses (ms).
local rank, most, now = tonumber(ARGV[3]), tonumber(ARGV[5]), tonumber(ARGV[7])
local now_s = math.floor(now / 1000)
local pass = call('HGET', K('passes'), ARGV[2])
if pass and tonumber(pass) > now_s then return { 'lives' } end
local life = call('HMGET', LIFE, 'released', 'late_credit_u')
if rank >= math.max(tonumber(ARGV[4]), num(life[1])) then return { 'wait' } end
lapse(now)
local coming = counts(now_s)[3] + call('ZCARD', K('entering'))
local to = cohort_of(rank)
local let_in = call('ZSCORE', K('entering'), rank) and true or false
if not let_in then
  if to and not pass then
    -- More may have been called than there is room for, because some of them were not expected to come.
    let_in = coming < most
  elseif coming < most and coming + expected() < most then
    -- Without a line only the room inside binds.
    let_in = ARGV[6] == '0'
    if not let_in and num(life[2]) >= VISITOR then
      call('HINCRBY', LIFE, 'late_credit_u', -VISITOR)
      call('HINCRBY', LIFE, 'owed_u', VISITOR)
      let_in = true
    end
  end
end
if not let_in then return { 'wait' } end
call('ZADD', K('entering'), ARGV[8], rank)
call('HINCRBY', K('entering_calls'), rank, 1)
if to then answered(to, rank, true) end
return { 'let', pass and 0 or 1 }
