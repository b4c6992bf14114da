-- Answers with the version of the absent numbers, and with the numbers as bits. The bit of each
-- number without a visitor is set. If the caller knows this version, there are no bits.
local version = num(call('HGET', LIFE, 'absent_version'))
local is_known = tostring(version) == known_version
return named({ version = version, bits = not is_known and (call('GET', K('absent')) or '') })
