-- Freezes the line unless it is frozen already. Returns n, the next number at the time of the
-- freeze. Later joins get numbers from n on.
local life = call('HMGET', LIFE, 'frozen', 'next')
if life[1] then return num(life[1]) end
call('HSET', LIFE, 'frozen', num(life[2]))
return num(life[2])
