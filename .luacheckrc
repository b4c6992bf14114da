-- How the Lua scripts of both stores are checked, each with all that stands in front of it: the
-- test `lua` of `booking` and of `gateway` puts them together and calls luacheck.
std = "lua51"
read_globals = { "redis", "KEYS", "ARGV", "bit", "struct" }
max_line_length = 120
max_comment_line_length = 100
