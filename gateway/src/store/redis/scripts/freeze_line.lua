-- Fixes the numbers given so far, and returns how many they are. Later joins get numbers behind
-- them.
local life = call('HMGET', LIFE, 'frozen', 'next')
if life[1] then return num(life[1]) end
call('HSET', LIFE, 'frozen', num(life[2]))
return num(life[2])
