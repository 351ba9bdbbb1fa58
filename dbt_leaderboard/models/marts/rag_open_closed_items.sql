-- One row an item that a model answered with the passages (open) and without (closed), under one protocol: first
-- repeats, and no error on either side. difference = open - closed.
with answers as (

    select *, (outcome = 'correct')::int as is_right
    from {{ ref('stg_rag_answers') }}
    where repeat = 0 and outcome <> 'error'

)

select
    with_passages.model,
    with_passages.protocol_id,
    with_passages.run_id as open_run,
    without.run_id as closed_run,
    with_passages.formosa_id,
    with_passages.category,
    with_passages.is_right as open_right,
    without.is_right as closed_right,
    with_passages.is_right - without.is_right as difference
from answers as with_passages
inner join answers as without
    on with_passages.model = without.model and with_passages.protocol_id = without.protocol_id
    and with_passages.formosa_id = without.formosa_id
where with_passages.side = 'open' and without.side = 'closed'
