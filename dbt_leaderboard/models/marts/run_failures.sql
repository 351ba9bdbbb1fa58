-- One row a current run and way of not giving an answer: what became of every reply that was not read, and of every
-- request without a reply, by the class of the error.
select
    run_id,
    ranked_outcome as outcome,
    error,
    count(*) as n
from {{ ref('int_answers') }}
where ranked_outcome not in ('correct', 'wrong')
group by run_id, ranked_outcome, error
order by run_id, n desc, outcome, error
