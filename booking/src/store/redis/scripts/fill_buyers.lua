-- Writes how many seats visitors have bought.
for visitor, seats in each_buyers() do call('HSET', P .. 'bought', visitor, seats) end
return {'OK', 0}
