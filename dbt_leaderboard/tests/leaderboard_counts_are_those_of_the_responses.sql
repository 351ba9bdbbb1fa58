-- Counted once more from the raw responses, past every intermediate table.
with counted as (

    select
        responses.run_id,
        count(*) filter (where responses.error = '') as n,
        count(*) filter (where responses.strict_outcome = 'correct') as strict_hits,
        count(*) filter (where responses.lenient_outcome = 'correct') as lenient_hits,
        count(*) filter (where responses.error <> '') as errors
    from {{ source('raw', 'responses') }} as responses
    left join {{ source('raw', 'withdrawals') }} as withdrawals on responses.item_id = withdrawals.item_id
    where withdrawals.item_id is null
    group by responses.run_id

)

select leaderboard.run_id, leaderboard.n, counted.n as n_counted
from {{ ref('leaderboard') }} as leaderboard
left join counted on leaderboard.run_id = counted.run_id
where
    leaderboard.n is distinct from counted.n
    or leaderboard.strict_hits is distinct from counted.strict_hits
    or leaderboard.lenient_hits is distinct from counted.lenient_hits
    or leaderboard.errors is distinct from counted.errors
