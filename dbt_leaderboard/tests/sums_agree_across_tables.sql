-- Subjects, fields and years of a run add up to its row of the board.
with parts as (

    select 'subject' as part, run_id, sum(n) as n, sum(hits) as hits from {{ ref('subject_scores') }} group by run_id
    union all
    select 'field', run_id, sum(n), sum(hits) from {{ ref('field_scores') }} group by run_id
    union all
    select 'answers', run_id, count(*) filter (where outcome <> 'error'), count(*) filter (where outcome = 'correct')
    from {{ ref('answers') }}
    group by run_id

)

select parts.part, parts.run_id, parts.n, leaderboard.n as n_board
from {{ ref('leaderboard') }} as leaderboard
left join parts on leaderboard.run_id = parts.run_id
where
    parts.run_id is null
    or parts.n <> leaderboard.n
    or parts.hits <> leaderboard.hits
