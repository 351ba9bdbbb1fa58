-- One row a current run and field of study; macro_accuracy is the mean over the field's subjects.
with totals as (

    select
        run_id,
        field,
        count(*) as n_subjects,
        avg(hits / nullif(n, 0)) as macro_accuracy,
        {{ sum_counts() }}
    from {{ ref('int_score_cells') }}
    group by run_id, field

)

select
    run_id,
    runs.model,
    runs.benchmark,
    runs.protocol_id,
    runs.serving_precision,
    field,
    n_subjects,
    macro_accuracy,
    {{ score_columns('totals.') }}
from totals
inner join {{ ref('int_runs') }} as runs using (run_id)
order by field, runs.benchmark, runs.model, run_id
