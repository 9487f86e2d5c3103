#!lua flags=allow-oom
-- Moves a hold's end. KEYS: the hold, the open holds. ARGV: id, microseconds that it lasts from now, microseconds that
-- any hold may last. Answers a word and the time in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local have = redis.call('HMGET', KEYS[1], 's', 'g')
if have[1] ~= 'open' then
  return { 'no', now }
end
local ends = math.min(now + tonumber(ARGV[2]), tonumber(have[2]) + tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'd', ends)
redis.call('ZADD', KEYS[2], ends, ARGV[1])
return { 'yes', now }
