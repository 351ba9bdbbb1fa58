-- Counted once more with a window over sorted lower bounds instead of pairs.
with complete as (

    select * from {{ ref('leaderboard') }} where is_complete

),

bounds as (

    select benchmark, protocol_name, list(accuracy_low) as lows from complete group by benchmark, protocol_name

),

expected as (

    select
        complete.run_id,
        complete.rank_band,
        1 + len(list_filter(bounds.lows, lambda low: low > complete.accuracy_high)) as band
    from complete
    inner join bounds using (benchmark, protocol_name)

)

select run_id, rank_band, band from expected where rank_band <> band
union all
select run_id, rank_band, null from {{ ref('leaderboard') }} where is_complete = (rank_band is null)
