-- Reads the whole show at one point of its feed: the views, and every hold with its summary.
local show = fields_of(META, 'life', 'seats', 'legs', 'plan', 'edition')
return answer('OK', { show = named(show), held = call('GET', P .. 'held') or '',
  sold = call('GET', P .. 'sold') or '', blocked = call('GET', P .. 'blocked') or '',
  holds = call('HGETALL', P .. 'kept') })
