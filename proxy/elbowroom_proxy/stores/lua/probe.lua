#!lua
-- Does nothing, and is refused where a hold would be: where memory has run out, where scripts are not allowed, by a
-- replica. KEYS: any one, so that a cluster knows where to send it. Answers a word and the time in microseconds.
local time = redis.call('TIME')
return { 'yes', tonumber(time[1]) * 1000000 + tonumber(time[2]) }
