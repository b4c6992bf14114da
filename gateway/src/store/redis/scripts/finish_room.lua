-- Completes the filling. From then on the room lives. In `absent`, the bit of each number without a
-- visitor is set. `void` is how many of these numbers the ledger has not recorded.
call('SET', K('absent'), absent)
call('HDEL', LIFE, 'building', 'builds', 'built_at')
if frozen ~= '' then call('HSET', LIFE, 'frozen', frozen) end
call('HSET', LIFE, 'incarnation', incarnation, 'first', first, 'next', first, 'ceiling', ceiling,
  'finished', finished, 'released', released, 'absent', call('BITCOUNT', K('absent')), 'void', void,
  'absent_version', 1, 'done', call('BITCOUNT', K('done')), 'ended', 0)
return 1
