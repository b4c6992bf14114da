-- Answers with the status of a signed place that a visitor shows, and restores the place if it was
-- lost.
return shown({ number = number, holder = holder, written = written, code = code, at_ms = at_ms })
