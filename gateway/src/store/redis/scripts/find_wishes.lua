-- Returns the wishes of a number.
return call('HGET', K('wishes'), number)
