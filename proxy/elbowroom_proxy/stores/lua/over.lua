#!lua flags=allow-oom
-- Ends a hold: it is settled, released, or swept since its holder was not heard of. It works where memory has run out.
--
-- KEYS: the hold, the open holds; then of each of its levels: what is live of it, its sums of the hold's own period.
-- ARGV: `settle`, `release` or `sweep`, id, tokens, micro-USD, tokens for the rate that it came to, when it was made in
-- microseconds (0: not known), seconds that one that is settled is remembered, seconds that one that was swept is,
-- seconds that sums outlive their period, the levels' keys in one text; then the end of each of their periods.
--
-- Answers a word, the time in microseconds, tokens, micro-USD and tokens for the rate that were held, and whether less
-- was found held than that, which cannot be. The word `lines` says that the hold has other levels: nothing was done.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local mode, id = ARGV[1], ARGV[2]
local settled_for, swept_for, kept = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

local have = redis.call('HMGET', KEYS[1], 's', 't', 'm', 'r', 'b', 'd', 'k', 'q')
local state, deadline = have[1], tonumber(have[6] or now)
local held = { tonumber(have[2] or 0), tonumber(have[3] or 0), tonumber(have[4] or 0) }

if mode == 'sweep' then
  if not state then
    redis.call('ZREM', KEYS[2], id)
  end
  if state ~= 'open' or deadline > now then
    return { 'not due', now, 0, 0, 0, 0 }
  end
elseif state == 'settled' or (mode == 'release' and state == 'released') then
  return { 'again', now, 0, 0, 0, 0 }
elseif mode == 'settle' and not state then
  local made = tonumber(ARGV[6])
  if made > 0 and made + swept_for * 1000000 < now then
    return { 'too_old', now, 0, 0, 0, 0 }
  end
end
if (state == 'open' or state == 'swept') and have[7] ~= ARGV[10] then
  return { 'lines', now, 0, 0, 0, 0 }
end

-- As a double, which is what Redis makes of a number, it becomes text at a price.
local function text(number)
  return string.format('%d', number)
end

local charge = { tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]) }
if mode == 'sweep' then
  charge = held
end
local short = 0
local function less(sum, by)
  if sum < by then
    short = 1
    return 0
  end
  return sum - by
end

for at = 3, #KEYS, 2 do
  local live, sums = KEYS[at], KEYS[at + 1]
  local seconds = 'w' .. (have[5] or '')
  local was = state == 'open' and redis.call('HMGET', live, 'o', 'w', seconds) or {}
  if was[1] then -- else it expired, with all that was in it
    local open = less(tonumber(was[1]), tonumber(have[8]))
    if was[3] and charge[3] ~= held[3] then
      local more = charge[3] - held[3]
      redis.call(
        'HSET', live, 'o', text(open), 'w', text(tonumber(was[2]) + more), seconds, text(tonumber(was[3]) + more)
      )
    else -- it came to what was thought, or its second has gone out
      redis.call('HSET', live, 'o', text(open))
    end
  end
  was = redis.call('HMGET', sums, 't', 'm', 'ht', 'hm', 'ut', 'um')
  local gone = not (was[1] or was[3])
  if not gone or charge[1] > 0 or charge[2] > 0 then
    local tokens, money = tonumber(was[1] or 0) + charge[1], tonumber(was[2] or 0) + charge[2]
    local held_tokens, held_money = tonumber(was[3] or 0), tonumber(was[4] or 0)
    local maybe_tokens, maybe_money = tonumber(was[5] or 0), tonumber(was[6] or 0)
    if state == 'open' and not gone then
      held_tokens, held_money = less(held_tokens, held[1]), less(held_money, held[2])
    elseif state == 'swept' then
      -- What was charged for want of news goes, unless somebody has restated the sums since.
      local back_tokens, back_money = math.min(held[1], maybe_tokens), math.min(held[2], maybe_money)
      tokens, money = tokens - back_tokens, money - back_money
      maybe_tokens, maybe_money = maybe_tokens - back_tokens, maybe_money - back_money
    end
    if mode == 'sweep' then
      maybe_tokens, maybe_money = maybe_tokens + charge[1], maybe_money + charge[2]
    end
    redis.call(
      'HSET', sums, 't', text(tokens), 'm', text(money), 'ht', text(held_tokens), 'hm', text(held_money)
    )
    if mode == 'sweep' or state == 'swept' then
      redis.call('HSET', sums, 'ut', text(maybe_tokens), 'um', text(maybe_money))
    end
    if gone then
      redis.call('EXPIREAT', sums, tonumber(ARGV[10 + (at - 1) / 2]) + kept)
    end
  end
end

redis.call('ZREM', KEYS[2], id)
if mode == 'sweep' then
  redis.call('HSET', KEYS[1], 's', 'swept')
  redis.call('EXPIRE', KEYS[1], swept_for)
else
  -- Its amounts and lines are not needed any more, and most of what a ledger keeps is such tombstones.
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 's', mode == 'settle' and 'settled' or 'released')
  redis.call('EXPIRE', KEYS[1], settled_for + math.max(0, math.ceil((deadline - now) / 1000000)))
end

local word = 'released'
if mode == 'sweep' then
  word = 'swept'
elseif mode == 'settle' then
  word = state == 'open' and 'settled' or state == 'swept' and 'late' or 'unknown'
end
return { word, now, held[1], held[2], held[3], short }
