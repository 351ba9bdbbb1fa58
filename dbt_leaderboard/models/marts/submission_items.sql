-- One row a submission and item, of the rows whose item is known: rows that share a stem in the published form cannot be
-- told apart and are in no item-level table (submissions_log counts them as n - rows_identified). Withdrawn items are out.
select
    submission_id,
    item_id,
    strict_correct,
    lenient_correct,
    strict_parsed,
    lenient_parsed,
    strict_answer,
    lenient_answer
from {{ ref('stg_submission_answers') }}
where
    item_id is not null
    and item_id not in (select item_id from {{ ref('stg_withdrawals') }})
order by item_id, submission_id
