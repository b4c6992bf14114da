-- Gives a holder the next number, or answers with the place that the holder has. `written` is
-- `now_ms` as 8 bytes.
local known = call('HGET', K('holders'), holder)
if known then return place('known', tonumber(known)) end
local life = fields_of(LIFE, 'next', 'ceiling', 'codes_since')
if life.codes_since then return named({ kind = 'codes_due' }) end
local used_code = ''
if needs_code == '1' then
  used_code = code
  local wait_ms = code == '' and 0 or codes_wait_ms(kept, now_ms)
  if wait_ms > 0 then
    return named({ kind = 'codes_paused', wait_ms = wait_ms, recent = recent_wrong_codes(now_ms) })
  end
  local used = code ~= '' and call('HGET', K('codes'), code)
  if not used then
    if is_counted == '1' then note_wrong_code(now_ms) end
    return named({ kind = 'code_invalid', recent = recent_wrong_codes(now_ms) })
  end
  if used ~= '' then return named({ kind = 'code_used' }) end
end
local refusal = toll_refusal()
if refusal then return refusal end
local number = num(life.next)
if number >= num(life.ceiling) then return named({ kind = 'full' }) end
use_solution()
local networks = {}
for network in each_networks() do
  if network.recent == '1' then
    count_recent_place(network.key, now_ms)
  else
    count_lasting_place(network.key)
  end
  networks[#networks + 1] = network.key
end
call('HSET', LIFE, 'next', number + 1)
call('HSET', K('holders'), holder, number)
write_leaf(number, holder, written)
if used_code ~= '' then
  call('HSET', K('codes'), used_code, number)
  call('HSET', K('code_of'), number, used_code)
end
local seen = K('seen:' .. slot)
call('SETBIT', seen, number, 1)
call('PEXPIRE', seen, slot_lives_ms)
feed_join({ number = number, holder = holder, at_ms = now_ms, code = used_code,
  networks = table.concat(networks) })
return place('new', number)
