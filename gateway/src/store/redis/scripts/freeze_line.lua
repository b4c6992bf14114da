-- Freezes the line unless it is frozen already. Returns n, the next number at the time of the
-- freeze. Later joins get numbers from n on.
local life = fields_of(LIFE, 'frozen', 'next')
if life.frozen then return num(life.frozen) end
call('HSET', LIFE, 'frozen', num(life.next))
return num(life.next)
