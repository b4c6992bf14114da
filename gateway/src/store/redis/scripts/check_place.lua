-- Returns the status of a signed place that a visitor shows, and restores the place if it was lost.
return shown(tonumber(number), holder, written, code, at_ms)
