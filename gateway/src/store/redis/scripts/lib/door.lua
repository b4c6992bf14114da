-- The called visitors who ask to enter and have to wait, as `entry_door.rs` describes them. The
-- score in `door` is the order in which they enter: first those whose release used up the pace for
-- them, then the late comers, then those who want a second pass. Within each group, the order is
-- what `entry_order` in `claim_timing.rs` returns. The score in `door_until` is until when they
-- count.
local IN_WINDOW, LATE, AGAIN = 0, 2 ^ 50, 2 ^ 51

local function leave_door(ranked)
  call('ZREM', K('door'), ranked)
  call('ZREM', K('door_until'), ranked)
end

-- Returns how many visitors who ask enter before this one.
local function before_at_door(order, timing, now)
  for _, silent in ipairs(call('ZRANGEBYSCORE', K('door_until'), '-inf', now)) do leave_door(silent) end
  local score = string.format('%.0f', timing + order)
  return call('ZCOUNT', K('door'), '-inf', '(' .. score)
end

-- Counts the visitors who were called a short time ago, ask to enter, and have to wait.
local function asking(now) return before_at_door(0, LATE, now) end

local function wait_at_door(ranked, order, timing, entry_in_ms, now)
  local again_ms = entry_in_ms and math.min(entry_in_ms, ASKS_AGAIN_MS) or LOOKS_FOR_SPACE_MS
  call('ZADD', K('door'), string.format('%.0f', timing + order), ranked)
  call('ZADD', K('door_until'), string.format('%.0f', now + again_ms + ASKS_LATE_MS), ranked)
end
