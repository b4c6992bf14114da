-- Reads the whole show at one point of its feed: the views, and every hold with its deadlines.
local shape = call('HMGET', META, 'life', 'seats', 'legs', 'plan', 'edition')
return {'OK', at, shape, call('GET', P .. 'held') or '', call('GET', P .. 'sold') or '',
  call('GET', P .. 'blocked') or '', call('HGETALL', P .. 'kept')}
