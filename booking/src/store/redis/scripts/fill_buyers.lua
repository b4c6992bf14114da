-- Writes how many seats visitors have bought.
for buyer in each_buyers() do call('HSET', P .. 'bought', buyer.visitor, buyer.seats) end
return named({ code = 'OK' })
