-- One row a current run, repeat and item of the scored set: the facts under every score, for questions that no mart
-- answers.
select
    run_id,
    repeat,
    item_id,
    key,
    ranked_answer as answer,
    ranked_outcome as outcome,
    strict_outcome,
    lenient_answer,
    lenient_outcome,
    lenient_rule,
    finish_reason,
    completion_tokens
from {{ ref('int_answers') }}
-- By item first: item ids repeat in long stretches, and the file is a third of the size.
order by item_id, run_id, repeat
