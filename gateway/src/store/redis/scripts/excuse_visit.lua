-- Notes that the visit of a number does not count, because no seats that fitted were free.
return call('HSET', K('excused'), number, '')
