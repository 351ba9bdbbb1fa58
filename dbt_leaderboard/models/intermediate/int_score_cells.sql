-- Counts of one run in one subject over all its repeats: what every coarser score is summed from.
select
    run_id,
    subject,
    field,
    {{ answer_counts() }}
from {{ ref('int_answers') }}
group by run_id, subject, field
