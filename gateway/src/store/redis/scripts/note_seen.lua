-- Notes that the visitors of these numbers were here.
local key = K('seen:' .. slot)
for number in each_numbers() do call('SETBIT', key, number, 1) end
call('PEXPIRE', key, slot_lives_ms)
return 1
