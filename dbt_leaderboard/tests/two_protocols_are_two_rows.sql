-- A row of the board holds answers of one protocol, and pairs are compared under one protocol name.
select run_a as run_id, 'protocols mixed in a pair' as fault
from {{ ref('head_to_head') }} as pairs
inner join {{ ref('leaderboard') }} as one on pairs.run_a = one.run_id
inner join {{ ref('leaderboard') }} as two on pairs.run_b = two.run_id
where one.protocol_name <> two.protocol_name or one.benchmark <> two.benchmark
union all
select leaderboard.run_id, 'protocol is not that of the run'
from {{ ref('leaderboard') }} as leaderboard
inner join {{ source('raw', 'runs') }} as runs on leaderboard.run_id = runs.run_id
where leaderboard.protocol_id <> runs.protocol_id
