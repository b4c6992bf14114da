-- Gives a holder the next number, or returns the place that the holder has. `written` is `now_ms`
-- as 8 bytes.
local known = call('HGET', K('holders'), holder)
if known then return place('known', tonumber(known)) end
local life = call('HMGET', LIFE, 'next', 'ceiling', 'codes_since')
if life[3] then return { 'codes_due' } end
local used_code = ''
if needs_code == '1' then
  used_code = code
  local used = code ~= '' and call('HGET', K('codes'), code)
  if not used then return { 'code_invalid' } end
  if used ~= '' then return { 'code_used' } end
end
local refusal, networks = toll_refusal()
if refusal then return refusal end
local number = num(life[1])
if number >= num(life[2]) then return { 'full' } end
use_solution()
for _, key in ipairs(networks) do count_place(key) end
call('HSET', LIFE, 'next', number + 1)
call('HSET', K('holders'), holder, number)
write_record(number, holder, written)
if used_code ~= '' then
  call('HSET', K('codes'), used_code, number)
  call('HSET', K('code_of'), number, used_code)
end
local seen = K('seen:' .. slot)
call('SETBIT', seen, number, 1)
call('PEXPIRE', seen, slot_lives_ms)
call('XADD', K('feed'), '*', 'k', 'j', 'n', number, 'h', holder, 'a', now_ms, 'c', used_code,
  'w', table.concat(networks))
return place('new', number)
