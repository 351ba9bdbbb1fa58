-- Every subject in which a run of the board has a response is in subject_scores, and nothing else is.
with answered as (

    select distinct responses.run_id, items.subject
    from {{ source('raw', 'responses') }} as responses
    inner join {{ ref('leaderboard') }} as leaderboard on responses.run_id = leaderboard.run_id
    inner join {{ source('raw', 'items') }} as items on responses.item_id = items.item_id
    where responses.item_id not in (select item_id from {{ source('raw', 'withdrawals') }})

),

scored as (

    select run_id, subject from {{ ref('subject_scores') }}

)

(select 'lost' as fault, * from (select * from answered except select * from scored))
union all
(select 'invented' as fault, * from (select * from scored except select * from answered))
