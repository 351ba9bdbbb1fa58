-- One row a run and data-set version that it was graded by: what a correction of keys or a withdrawal moved.
with judged as (

    select
        scores.*,
        runs.model,
        runs.benchmark,
        runs.protocol_id,
        runs.serving_precision,
        scores.dataset_version = runs.graded_version as is_graded_version
    from {{ ref('stg_run_scores') }} as scores
    inner join {{ ref('int_runs') }} as runs using (run_id)

)

select
    run_id,
    model,
    benchmark,
    protocol_id,
    serving_precision,
    dataset_version,
    item_set,
    is_graded_version,
    n,
    hits,
    {{ rate('hits', 'n', 'accuracy') }},
    {{ share('hits', 'n') }} - max(hits / nullif(n, 0)) filter (where is_graded_version) over (partition by run_id)
        as beside_current
from judged
order by run_id, is_graded_version desc, dataset_version
