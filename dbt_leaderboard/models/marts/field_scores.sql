-- One row a current run and field of study; macro_accuracy is the mean over the field's subjects.
with totals as (

    select
        run_id,
        field,
        count(*) as n_subjects,
        {{ sum_counts() }}
    from {{ ref('int_score_cells') }}
    group by run_id, field

)

select
    totals.run_id,
    runs.model,
    runs.benchmark,
    runs.protocol_id,
    runs.serving_precision,
    totals.field,
    n_subjects,
    macro.macro_accuracy,
    macro.macro_accuracy_low,
    macro.macro_accuracy_high,
    {{ score_columns('totals.') }}
from totals
inner join {{ ref('int_runs') }} as runs using (run_id)
left join {{ ref('int_macro_scores') }} as macro
    on totals.run_id = macro.run_id and not macro.is_over_all and totals.field is not distinct from macro.field
order by totals.field, runs.benchmark, runs.model, totals.run_id
