-- The fields of a stored hold. Redis has a letter for each.
local VISITOR = 'v'
local ROOM = 'r'
local ITEMS = 'i'
local PLAN = 'p'
local SIDE_BY_SIDE = 'n'
local EXPIRES_MS = 'e'
local LOCK_UNTIL_MS = 'u'
local EXTENSIONS = 'x'
-- A basket, or locked for an order.
local STAGE = 's'
-- How many cells the hold has.
local CELLS = 'k'
-- Older versions stored holds without a purpose and without terms. Those holds are baskets.
local PURPOSE = 'w'
local TERMS = 't'
-- The wish of the last change.
local CHANGE = 'c'
-- The id of the call that made the last extension.
local EXTENDED_BY = 'y'
-- Set if the basket was an offer.
local ACCEPTED = 'a'

local function hold_key(id) return P .. 'hold:' .. id end
