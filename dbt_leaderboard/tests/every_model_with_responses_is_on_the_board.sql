-- A cell (model, benchmark, protocol, precision) with a graded response on the scored set has exactly one row.
select runs.model, runs.benchmark, runs.protocol_id, runs.serving_precision
from {{ source('raw', 'responses') }} as responses
inner join {{ source('raw', 'runs') }} as runs on responses.run_id = runs.run_id
where responses.item_id not in (select item_id from {{ source('raw', 'withdrawals') }})
group by all
except
select model, benchmark, protocol_id, serving_precision
from {{ ref('leaderboard') }}
