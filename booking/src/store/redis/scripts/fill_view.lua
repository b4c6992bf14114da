-- A part of a view. ARGV from 4: which, offset in bytes, bytes.
call('SETRANGE', P .. ARGV[4], ARGV[5], ARGV[6])
return {'OK', 0}
