-- ARGV: incarnation, number, holder, at (8 bytes), code or '', at (ms). Whose is the number that is shown, signed? One
-- that this store's last life lost is taken back; of two numbers of one holder the lower stands.
local number, holder, code = tonumber(ARGV[2]), ARGV[3], ARGV[5]
local living = call('HGET', K('holders'), holder)
living = living and tonumber(living)
if living == number then return place('here', number) end
local leaf = record(number)
local whose = string.sub(leaf, 1, 32)
local lost = leaf == '' or leaf == UNWRITTEN
if whose == holder or (whose == NOBODY and not lost) then
  if living and living < number then return place('here', living) end
  return { 'left' }
end
local life = call('HMGET', LIFE, 'first', 'frozen', 'next')
if not lost or number >= num(life[1]) or (life[2] and number < num(life[2])) then
  if lost and living and living < number and number < num(life[3]) then return place('here', living) end
  return { 'unknown' }
end
if living then
  -- With a pass of the higher number in hand the lower one would give a second.
  if living < number or call('HEXISTS', K('passes'), living) == 1 then return place('here', living) end
  give_up(living)
end
if code ~= '' then
  local used = call('HGET', K('codes'), code)
  if used and used ~= '' and tonumber(used) ~= living then return { 'unknown' } end
  call('HSET', K('codes'), code, number)
  call('HSET', K('code_of'), number, code)
end
write_record(number, holder, ARGV[4])
call('HSET', K('holders'), holder, number)
mark_absent(number, 0)
call('XADD', K('feed'), '*', 'k', 'j', 'n', number, 'h', holder, 'a', ARGV[6], 'c', code)
return place('here', number)
