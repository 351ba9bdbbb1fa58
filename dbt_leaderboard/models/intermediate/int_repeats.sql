-- Accuracy of each repeat of a current run, and its mean and spread over the repeats.
with each_repeat as (

    select
        run_id,
        repeat,
        avg((ranked_outcome = 'correct')::int) as accuracy
    from {{ ref('int_answers') }}
    where ranked_outcome <> 'error'
    group by run_id, repeat

)

select
    run_id,
    count(*) as repeats,
    avg(accuracy) as repeat_mean,
    stddev_samp(accuracy) as repeat_sd,
    min(accuracy) as repeat_low,
    max(accuracy) as repeat_high
from each_repeat
group by run_id
