-- Notes when the place of a number was brought to another device.
call('HSET', K('moved'), number, at_ms)
return 1
