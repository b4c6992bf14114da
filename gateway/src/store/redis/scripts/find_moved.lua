-- Returns when the place of a number was last brought to another device.
return call('HGET', K('moved'), number)
