-- Returns the status of a signed place that a visitor shows.
return shown(tonumber(number), holder, written, code, at_ms)
