-- Counted once more over the best lower bound of each model instead of pairs of runs.
with complete as (

    select * from {{ ref('leaderboard') }} where is_complete

),

highest as (

    select benchmark, protocol_name, model, max(accuracy_low) as low
    from complete
    group by benchmark, protocol_name, model

),

expected as (

    select
        complete.run_id,
        any_value(complete.rank_band) as rank_band,
        1 + count(*) filter (where highest.model <> complete.model and highest.low > complete.accuracy_high) as band
    from complete
    inner join highest using (benchmark, protocol_name)
    group by complete.run_id

)

select run_id, rank_band, band from expected where rank_band <> band
union all
select run_id, rank_band, null from {{ ref('leaderboard') }} where is_complete = (rank_band is null)
