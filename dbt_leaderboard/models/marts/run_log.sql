-- Every run of our own, also those that the board does not show, and why.
select
    run_id,
    model,
    benchmark,
    protocol_id,
    protocol_name,
    serving_precision,
    dataset_version as asked_version,
    graded_version,
    item_set as asked_set,
    started,
    client_version,
    n_items,
    n_covered,
    n_ungraded,
    n_doubled,
    n_to_retry,
    repeats,
    repeats_seen,
    responses,
    is_complete,
    is_current,
    case
        when is_current then 'shown'
        when n_covered = 0 then 'no graded response'
        when not is_whole then 'it asked a part of the benchmark'
        else 'another run of this cell is complete or later'
    end as standing
from {{ ref('int_runs') }}
order by started, run_id
