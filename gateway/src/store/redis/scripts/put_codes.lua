-- ARGV: incarnation, whether these are the first, whether these are the last, codes. Only while joins wait for them.
if call('HEXISTS', LIFE, 'codes_since') == 0 then return 0 end
if ARGV[2] == '1' then call('UNLINK', K('codes')) end
for at = 4, #ARGV do call('HSET', K('codes'), ARGV[at], '') end
if ARGV[3] == '1' then call('HDEL', LIFE, 'codes_since') end
return 1
