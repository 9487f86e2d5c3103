#!lua
-- Takes from every level, or from none. One organisation is one slot, so this is one step.
--
-- KEYS: the hold, the open holds, the epoch; then of each level: what is live of it, its sums of this period and of the
-- next. ARGV: id, the last microsecond at which the hold may be made, microseconds that it lasts, tokens, micro-USD,
-- tokens for the rate, seconds that sums outlive their period; then, packed, of each level: limits of requests and of
-- tokens a minute, of requests at once, of tokens and of micro-USD a period (-1: none), this period's first second, its
-- end, the next one's end; and how many requests it is: 1, or 0 for a call beside the answer of one that counts.
--
-- Answers a word, the time in microseconds, the epoch (when the sums began; below 0: when they were last restated); then
-- of each level: which of the two periods, open requests, requests and tokens of the last minute, spent and held tokens,
-- spent and held micro-USD, the seconds at which there is room in the two rates. All integers, far below 2^53, up to
-- which doubles are exact.
local time = redis.call('TIME')
local second = tonumber(time[1])
local now = second * 1000000 + tonumber(time[2])
-- A number becomes text at some cost: as a double where Redis does it, which is dear. What is written more than once
-- becomes it once.
local function text(number)
  return string.format('%d', number)
end
local requests_field, rate_field = 'n' .. time[1], 'w' .. time[1]
local id, lasts, kept = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[7])
local tokens, money, rate = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local limits, counts = cmsgpack.unpack(ARGV[8]), tonumber(ARGV[9])

-- A server that was frozen comes to what was said to it long ago: whoever asked has given up.
if now > tonumber(ARGV[2]) then
  return { 'late', now }
end
local state = redis.call('HGET', KEYS[1], 's')
if state and state ~= 'open' then
  return { 'over', now }
end

-- The window: fields n<second> and w<second>, their sums n and w, the first and last second that there are, f and l.
-- What is more than a minute ago goes out.
local function slid(live)
  local have = redis.call('HMGET', live, 'o', 'n', 'w', 'f', 'l', requests_field, rate_field)
  local found = {
    open = tonumber(have[1] or 0),
    requests = tonumber(have[2] or 0),
    rate = tonumber(have[3] or 0),
    first = tonumber(have[4] or second),
    live_first = have[4], -- as it is written; false where it is not
    last = tonumber(have[5] or 0),
    requests_now = tonumber(have[6] or 0),
    rate_now = tonumber(have[7] or 0),
  }
  local gone = math.min(found.last, second - 61)
  if found.requests == 0 and found.rate == 0 and found.first ~= second then
    found.first, found.live_first = second, false
  end
  if found.first > gone then
    return found
  end
  local fields = {}
  if gone - found.first < 120 then
    for one = found.first, gone do
      fields[#fields + 1] = 'n' .. one
      fields[#fields + 1] = 'w' .. one
    end
  else -- the clock was put back, and forward again
    for _, field in ipairs(redis.call('HKEYS', live)) do
      local one = tonumber(string.sub(field, 2))
      if one and one <= gone then
        fields[#fields + 1] = field
      end
    end
  end
  for from = 1, #fields, 240 do
    local some = { unpack(fields, from, math.min(#fields, from + 239)) }
    for at, value in ipairs(redis.call('HMGET', live, unpack(some))) do
      local sum = string.sub(some[at], 1, 1) == 'n' and 'requests' or 'rate'
      found[sum] = found[sum] - tonumber(value or 0)
    end
    redis.call('HDEL', live, unpack(some))
  end
  found.first = gone + 1
  redis.call('HSET', live, 'n', text(found.requests), 'w', text(found.rate), 'f', text(found.first))
  return found
end

-- The second from which there is at most that much in the window; the one in which nothing is, where that is never.
local function free(found, letter, sum, most)
  if most < 0 and sum == 0 then
    return second
  end
  local fields = {}
  for one = found.first, math.min(found.last, found.first + 120) do
    fields[#fields + 1] = letter .. one
  end
  local values, when = redis.call('HMGET', found.live, unpack(fields)), second
  for at, value in ipairs(values) do
    if value and tonumber(value) > 0 then
      sum = sum - tonumber(value)
      when = found.first + at + 60
      if sum <= most and sum >= 0 and most >= 0 then
        return when
      end
    end
  end
  return when
end

local function above(most, sum)
  return most >= 0 and sum > most
end

local levels, refused = {}, false
local asks = state and 0 or 1 -- the same hold said twice is one
for at, limit in ipairs(limits) do
  if second < limit[6] or second >= limit[8] then
    return { 'clock', now }
  end
  local base = at * 3
  local found = slid(KEYS[base + 1])
  found.live = KEYS[base + 1]
  found.next = second < limit[7] and 0 or 1
  found.sums = KEYS[base + 2 + found.next]
  found.ends = limit[7 + found.next]
  local have = redis.call('HMGET', found.sums, 't', 'm', 'ht', 'hm')
  found.fresh = not (have[1] or have[3])
  found.tokens, found.money = tonumber(have[1] or 0), tonumber(have[2] or 0)
  found.held_tokens, found.held_money = tonumber(have[3] or 0), tonumber(have[4] or 0)
  levels[at] = found
  if asks == 1 then
    refused = refused
      or above(limit[1], found.requests + counts)
      or above(limit[2], found.rate + rate)
      or above(limit[3], found.open + counts)
      or above(limit[4], found.tokens + found.held_tokens + tokens)
      or above(limit[5], found.money + found.held_money + money)
  end
end

local epoch = redis.call('GET', KEYS[3])
if not epoch then
  epoch = now
  redis.call('SET', KEYS[3], text(now))
end

if asks == 1 and not refused then
  local lines, ends = {}, text(now + lasts)
  for at, found in ipairs(levels) do
    found.open = found.open + counts
    local fields = { 'o', text(found.open) }
    if limits[at][1] >= 0 or limits[at][2] >= 0 then
      found.requests, found.rate = found.requests + counts, found.rate + rate
      fields = {
        'o', fields[2], 'n', text(found.requests), 'w', text(found.rate), requests_field,
        text(found.requests_now + counts), rate_field, text(found.rate_now + rate),
      }
      if second < found.first or not found.live_first then
        found.first = math.min(found.first, second)
        fields[#fields + 1] = 'f'
        fields[#fields + 1] = text(found.first)
      end
    end
    if second > found.last then
      fields[#fields + 1] = 'l'
      fields[#fields + 1] = time[1]
    end
    redis.call('HSET', found.live, unpack(fields))
    if second > found.last then
      redis.call('EXPIRE', found.live, kept)
      found.last = second
    end
    found.held_tokens, found.held_money = found.held_tokens + tokens, found.held_money + money
    redis.call('HSET', found.sums, 'ht', text(found.held_tokens), 'hm', text(found.held_money))
    if found.fresh then
      redis.call('EXPIREAT', found.sums, found.ends + kept)
    end
    lines[#lines + 1] = found.live
    lines[#lines + 1] = found.sums
  end
  redis.call(
    'HSET', KEYS[1], 's', 'open', 'g', text(now), 'd', ends, 't', ARGV[4], 'm', ARGV[5], 'r', ARGV[6], 'b', time[1],
    'q', ARGV[9], 'k', table.concat(lines, '\n')
  )
  redis.call('ZADD', KEYS[2], ends, id)
end

local answer = { refused and 'no' or state and 'again' or 'yes', now, tonumber(epoch) }
for at, found in ipairs(levels) do
  local requests_free, rate_free = found.last + 61, found.last + 61
  if refused then
    requests_free, rate_free = second, second
    if above(limits[at][1], found.requests + counts) then
      requests_free = free(found, 'n', found.requests, limits[at][1] - counts)
    end
    if above(limits[at][2], found.rate + rate) then
      rate_free = free(found, 'w', found.rate, limits[at][2] - rate)
    end
  end
  local at_last = #answer
  answer[at_last + 1], answer[at_last + 2], answer[at_last + 3] = found.next, found.open, found.requests
  answer[at_last + 4], answer[at_last + 5], answer[at_last + 6] = found.rate, found.tokens, found.held_tokens
  answer[at_last + 7], answer[at_last + 8] = found.money, found.held_money
  answer[at_last + 9], answer[at_last + 10] = requests_free, rate_free
end
return answer
