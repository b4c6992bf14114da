-- ARGV: incarnation, whether these are the first, codes. Only before anybody joined.
if ARGV[2] == '1' then call('UNLINK', K('codes')) end
for at = 3, #ARGV do call('HSET', K('codes'), ARGV[at], '') end
return 1
