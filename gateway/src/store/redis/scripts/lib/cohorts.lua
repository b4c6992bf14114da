-- A cohort is the ranks that one tick called. It is stored as FROM:TO:AT_MS:PEOPLE. `to` is the
-- rank after the last one. Stored under this rank are how many of the visitors answered, which
-- means that they came or left, and how many of them came.
local function cohort_text(called)
  return called.from .. ':' .. called.to .. ':' .. called.at_ms .. ':' .. called.people
end

local function read_cohort(text)
  local from, to, at_ms, people = string.match(text, '^(%d+):(%d+):(%-?%d+):(%d+)$')
  return strict({ text = text, from = tonumber(from), to = tonumber(to), at_ms = tonumber(at_ms),
    people = tonumber(people), answered_field = to .. ':answered', came_field = to .. ':came' })
end

-- Returns the cohort of a rank, or nil if the cohort's window has ended or the rank's visitor was
-- away when called.
local function cohort_of(rank)
  local text = only(call('ZRANGEBYSCORE', K('calls'), '(' .. rank, '+inf', 'LIMIT', 0, 1))
  local cohort = text and read_cohort(text)
  if not cohort or rank < cohort.from or call('GETBIT', K('called_away'), rank) == 1 then
    return nil
  end
  return cohort
end

-- Notes that the visitor of a called rank came or left, and is no longer expected.
local function note_answer(cohort, rank, came)
  if call('SETBIT', K('answered'), rank, 1) == 0 then
    call('HINCRBY', K('came'), cohort.answered_field, 1)
    if came then call('HINCRBY', K('came'), cohort.came_field, 1) end
  end
end
