-- Whose the number is that somebody shows.
return shown(tonumber(number), holder, written, code, at_ms)
