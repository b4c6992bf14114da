-- ARGV from 4: incarnation, first number, ceiling, frozen or '', finished, release counter, a bit for each absent number,
-- how many of those the ledger knows nobody at.
-- From here on the room lives.
call('SET', K('absent'), ARGV[10])
call('HDEL', LIFE, 'building', 'builds', 'built_at')
if ARGV[7] ~= '' then call('HSET', LIFE, 'frozen', ARGV[7]) end
call('HSET', LIFE, 'incarnation', ARGV[4], 'first', ARGV[5], 'next', ARGV[5], 'ceiling', ARGV[6], 'finished', ARGV[8],
  'released', ARGV[9], 'absent', call('BITCOUNT', K('absent')), 'void', ARGV[11], 'absent_version', 1, 'done', call('BITCOUNT', K('done')),
  'ended', 0)
return 1
