-- ARGV: incarnation, holder, at (8 bytes), code or '', whether a code is needed, presence slot, at (ms), its seconds to live.
-- Again by the same holder finds the place.
local holder, code = ARGV[2], ''
local known = call('HGET', K('holders'), holder)
if known then return place('known', tonumber(known)) end
local life = call('HMGET', LIFE, 'next', 'ceiling', 'codes_since')
if life[3] then return { 'codes_due' } end
if ARGV[5] == '1' then
  code = ARGV[4]
  local used = code ~= '' and call('HGET', K('codes'), code)
  if not used then return { 'code_invalid' } end
  if used ~= '' then return { 'code_used' } end
end
local number = num(life[1])
if number >= num(life[2]) then return { 'full' } end
call('HSET', LIFE, 'next', number + 1)
call('HSET', K('holders'), holder, number)
write_record(number, holder, ARGV[3])
if code ~= '' then
  call('HSET', K('codes'), code, number)
  call('HSET', K('code_of'), number, code)
end
call('SETBIT', K('seen:' .. ARGV[6]), number, 1)
call('PEXPIRE', K('seen:' .. ARGV[6]), ARGV[8])
call('XADD', K('feed'), '*', 'k', 'j', 'n', number, 'h', holder, 'a', ARGV[7], 'c', code)
return place('new', number)
