-- The numbers so far, fixed; joins go on from there.
local life = call('HMGET', LIFE, 'frozen', 'next')
if life[1] then return num(life[1]) end
call('HSET', LIFE, 'frozen', num(life[2]))
return num(life[2])
