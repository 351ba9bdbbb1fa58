-- One row a current run and sitting year: an item that a model may have seen shows as a fall after its last training.
with totals as (

    select
        run_id,
        year_roc,
        {{ answer_counts() }}
    from {{ ref('int_answers') }}
    where year_roc is not null
    group by run_id, year_roc

)

select
    run_id,
    runs.model,
    runs.benchmark,
    runs.protocol_id,
    runs.serving_precision,
    year_roc,
    year_roc + 1911 as year_ce,
    {{ score_columns('totals.') }}
from totals
inner join {{ ref('int_runs') }} as runs using (run_id)
order by year_roc, runs.benchmark, runs.model, run_id
