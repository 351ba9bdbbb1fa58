-- One row an item of the scored set, repeat and current run, judged by the method that its protocol ranks by.
-- Withdrawn items are left out here and nowhere else, so that every score speaks of one and the same set.
select
    runs.run_id,
    runs.benchmark,
    runs.protocol_name,
    responses.repeat,
    responses.item_id,
    items.subject,
    items.field,
    items.year_roc,
    responses.key,
    {{ ranked('answer', 'runs.ranked_by') }} as ranked_answer,
    {{ ranked('outcome', 'runs.ranked_by') }} as ranked_outcome,
    responses.strict_outcome,
    responses.lenient_answer,
    responses.lenient_outcome,
    responses.lenient_rule,
    responses.tolerant_box_outcome,
    responses.twinkle_box_outcome,
    responses.twinkle_pattern_outcome,
    responses.error,
    responses.finish_reason,
    responses.boxes,
    responses.completion_tokens
from {{ ref('stg_responses') }} as responses
inner join {{ ref('int_runs') }} as runs on responses.run_id = runs.run_id and runs.is_current
left join {{ ref('stg_items') }} as items on responses.item_id = items.item_id
where responses.item_id not in (select item_id from {{ ref('stg_withdrawals') }})
