-- Completes the filling, after which the room lives. `absent` has a bit for each number without a
-- visitor, and `void` is how many of those numbers the ledger has not recorded.
call('SET', K('absent'), absent)
call('HDEL', LIFE, 'building', 'builds', 'built_at')
if frozen ~= '' then call('HSET', LIFE, 'frozen', frozen) end
call('HSET', LIFE, 'incarnation', incarnation, 'first', first, 'next', first, 'ceiling', ceiling,
  'finished', finished, 'released', released, 'absent', call('BITCOUNT', K('absent')), 'void', void,
  'absent_version', 1, 'done', call('BITCOUNT', K('done')), 'ended', 0)
return 1
